import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../docs/call-path.md", import.meta.url), "utf8");
const files = [...page.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) => path ?? "");

test("docs/call-path.md lists files that exist, each once, and at most 45", () => {
  const missing = files.filter((path) => !existsSync(new URL(`../packages/${path}`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
  expect(files.length).toBeGreaterThan(0);
  expect(files.length).toBeLessThanOrEqual(45);
});

test("no object literal on the path of a call has a getter: V8 keeps such an object as a hash table", () => {
  const others = [
    "tool-server/src/connection/transports/stdio-transport.ts",
    "tool-server/src/connection/transports/json-rpc-streams.ts",
    "tool-server/src/connection/transports/stray-output.ts",
    "gateway/src/servers/servers.ts",
    "gateway/src/servers/cached-list.ts",
    "gateway/src/observers/call-log/capture.ts",
  ];
  // Getters of classes, which are on their prototypes, are indented less.
  const getter = /^ {4,}get \w+\(/m;
  const having = [...files, ...others].filter((path) => {
    return getter.test(readFileSync(new URL(`../packages/${path}`, import.meta.url), "utf8"));
  });
  expect(having).toEqual([]);
});
