interface Connection {
  loadExtension(path: string): unknown;
}

export declare function getLoadablePath(): string;
export declare function getNetLoadablePath(): string;
export declare function load(db: Connection): void;
export declare function loadNet(db: Connection): void;
