"""A second client of S3, which shares no code with Tidemark's: what it finds in a bucket is what the tests expect.

Signature Version 4 as "Authenticating Requests: Using the Authorization Header" in the Amazon S3 API reference has it.
"""
import datetime
import hashlib
import hmac
import http.client
import urllib.parse
import xml.etree.ElementTree


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


def signature(secret, region, method, path, query, headers, payload_hash):
    """Of a request as it is sent: path and query escaped, headers with names in lower case, x-amz-date among them."""
    time = headers["x-amz-date"]
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload_hash}"
    scope = f"{time[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = ("AWS4" + secret).encode()
    for part in (time[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return names, scope, hmac.new(key, text.encode(), "sha256").hexdigest()


class Client:
    def __init__(self, port, key, secret, region, bucket):
        self.port, self.key, self.secret, self.region, self.bucket = port, key, secret, region, bucket

    def send(self, method, key=None, query=None, body=b""):
        path = "/" + self.bucket + ("" if key is None else "/" + quote(key, "/"))
        text = "&".join(f"{quote(name)}={quote(value)}" for name, value in sorted((query or {}).items()))
        digest = hashlib.sha256(body).hexdigest()
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": f"127.0.0.1:{self.port}", "x-amz-date": now, "x-amz-content-sha256": digest}
        names, scope, signed = signature(self.secret, self.region, method, path, text, headers, digest)
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={names}, "
                                    f"Signature={signed}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path + ("?" + text if text else ""), body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def make_bucket(self):
        status, content = self.send("PUT")
        assert status == 200, content

    def get(self, key):
        """The bytes of an object; None when there is none."""
        status, content = self.send("GET", key)
        assert status in (200, 404), content
        return content if status == 200 else None

    def put(self, key, body):
        status, content = self.send("PUT", key, body=body)
        assert status == 200, content

    def delete(self, key):
        status, content = self.send("DELETE", key)
        assert status == 204, content

    def found(self, query, tag):
        status, content = self.send("GET", query=query)
        assert status == 200, content
        root = xml.etree.ElementTree.fromstring(content)
        return [element.text for element in root.iter() if element.tag.split("}")[-1] == tag]

    def keys(self, prefix=""):
        return self.found({"list-type": "2", "prefix": prefix}, "Key")

    def uploads(self):
        return self.found({"uploads": ""}, "Key")
