/* A receiver of a few requests on the loopback, in a thread of this process, that answers from a script:
 *
 *   struct http_server server;
 *   http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, "HTTP/1.1 200 OK\r\n..."}, ...}, 2);
 *   ... requests to server.url ...
 *   http_server_stop(&server);           // every step was taken
 *   server.requests[0].text              // what came, headers and body
 *
 * Connections are kept while steps say HTTP_ANSWER, as HTTP/1.1 has it. */
#ifndef TIDE_TESTS_HTTP_SERVER_H
#define TIDE_TESTS_HTTP_SERVER_H

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum http_deed {
  HTTP_ANSWER,       /* reads a request and answers */
  HTTP_ANSWER_CLOSE, /* and closes */
  HTTP_ANSWER_HEAD,  /* reads the headers, answers, and closes without having read the body */
  HTTP_DROP_BEFORE,  /* closes without having read */
  HTTP_DROP_AFTER,   /* reads a request and closes */
  HTTP_STALL         /* reads a request and holds still until the other side closes */
};
struct http_step {
  enum http_deed deed;
  const char *answer;
};
struct http_request {
  char text[8192]; /* the first bytes, with a NUL */
  size_t size;     /* of all that came */
};
enum { HTTP_STEPS_MAX = 16 };
struct http_server {
  int listener;
  pthread_t thread;
  const struct http_step *steps;
  int nsteps;
  int taken;       /* steps */
  int connections; /* that were accepted */
  char url[64];    /* http://127.0.0.1:port */
  struct http_request requests[HTTP_STEPS_MAX];
};

static inline size_t http_body_size(const char *headers) {
  const char *at = strstr(headers, "\r\nContent-Length:");
  return at != NULL ? strtoul(at + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

/* Reads one request to the end of its body, or only of its headers (to_end false), whose names are as curl writes them;
 * false when the other side closed before that. */
static inline bool http_read_request(int fd, bool to_end, struct http_request *request) {
  char bytes[4096];
  size_t whole = 0; /* 0 while the headers have not ended */
  memset(request, 0, sizeof *request);
  while (whole == 0 || request->size < whole) {
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0)
      return false;
    const size_t room = sizeof request->text - 1 > request->size ? sizeof request->text - 1 - request->size : 0;
    memcpy(request->text + request->size * (room > 0), bytes, (size_t)got < room ? (size_t)got : room);
    request->size += (size_t)got;
    const char *end = strstr(request->text, "\r\n\r\n");
    if (whole == 0 && end != NULL)
      whole = (size_t)(end - request->text) + 4 + http_body_size(request->text);
    if (end != NULL && !to_end)
      return true;
    if (whole != 0 && request->size < whole && strstr(request->text, "\r\nExpect: 100-continue") != NULL &&
        request->size == (size_t)(end - request->text) + 4)
      (void)!write(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
  }
  return true;
}

/* Takes one step on a connection; false when that is closed and another is to be accepted. */
static inline bool http_take_step(struct http_server *server, int fd) {
  const struct http_step *step = &server->steps[server->taken];
  struct http_request *request = &server->requests[server->taken];
  char byte;
  if (step->deed != HTTP_DROP_BEFORE && !http_read_request(fd, step->deed != HTTP_ANSWER_HEAD, request))
    return false;
  server->taken++;
  if (step->answer != NULL)
    (void)!send(fd, step->answer, strlen(step->answer), MSG_NOSIGNAL);
  while (step->deed == HTTP_STALL && read(fd, &byte, 1) > 0)
    continue;
  return step->deed == HTTP_ANSWER;
}

static inline void *http_serve(void *context) {
  struct http_server *server = context;
  while (server->taken < server->nsteps) {
    const int fd = accept(server->listener, NULL, NULL);
    if (fd < 0)
      break;
    server->connections++;
    while (server->taken < server->nsteps && http_take_step(server, fd))
      continue;
    close(fd);
  }
  return NULL;
}

static inline void http_server_start(struct http_server *server, const struct http_step *steps, int nsteps) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  ck_assert_int_le(nsteps, HTTP_STEPS_MAX);
  *server = (struct http_server){.steps = steps, .nsteps = nsteps};
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
  ck_assert_int_eq(listen(server->listener, 4), 0);
  ck_assert_int_eq(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
  snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  ck_assert_int_eq(pthread_create(&server->thread, NULL, http_serve, server), 0);
}

/* Ends it though steps may be left. */
static inline void http_server_end(struct http_server *server) {
  shutdown(server->listener, SHUT_RDWR);
  pthread_join(server->thread, NULL);
  close(server->listener);
}

static inline void http_server_stop(struct http_server *server) {
  http_server_end(server);
  ck_assert_int_eq(server->taken, server->nsteps);
}

#endif
