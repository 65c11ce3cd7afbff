import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connection, unixPath } from "./connections.test.helper.js";
import { findNativeSockets, loadSocketOptions, nativeSockets, whyNoSocketOptions } from "./native.js";
import { descriptorOf } from "./socket-internals.js";

const linux = { platform: "linux", arch: "x64", require: createRequire(import.meta.url) } as const;
const refuse = (): never => {
  throw new TypeError("asked for a module");
};

function reasonOf(outcome: ReturnType<typeof findNativeSockets>): string | undefined {
  return "reason" in outcome ? outcome.reason : undefined;
}

test("a package that is not installed is named, with the command that installs it", () => {
  const require = createRequire(join(tmpdir(), "nothing-is-installed-here.js"));
  expect(reasonOf(findNativeSockets({ ...linux, require }))).toBe(
    "Socket options need the optional package koffi, which is not installed. Run `npm install koffi` to see them.",
  );
});

test("a package that fails to load is a reason and no error", () => {
  const require = (): never => {
    throw new Error("Cannot find the native Koffi module\nRequire stack: many lines");
  };
  expect(reasonOf(findNativeSockets({ ...linux, require }))).toBe(
    "Socket options need the package koffi, which cannot be loaded here: Cannot find the native Koffi module",
  );
  expect(reasonOf(findNativeSockets({ ...linux, require: () => ({}) }))).toContain("cannot be loaded here");
});

test("nothing is loaded on another platform, nor where the layout of the structs is not known", () => {
  expect(reasonOf(findNativeSockets({ ...linux, platform: "darwin", require: refuse }))).toBe(
    "Socket options are read on Linux only, and this is darwin.",
  );
  expect(reasonOf(findNativeSockets({ ...linux, arch: "s390x", require: refuse }))).toContain("this is s390x");
});

const native = nativeSockets();

test("the result is cached, and there is a reason only if there are no options", () => {
  expect(loadSocketOptions()).toBe(native !== undefined);
  expect(whyNoSocketOptions() === undefined).toBe(native !== undefined);
  expect(nativeSockets()).toBe(native);
});

test.runIf(native)("a descriptor that is none, or of no socket, has no options and no paths", () => {
  const closed = 1_000_000;
  const file = process.stderr.fd;
  expect(native?.getOption(closed, 1, 9, 4)).toBeUndefined();
  expect(native?.localPath(closed)).toBeUndefined();
  expect(native?.getOption(-1, 1, 9, 4)).toBeUndefined();
  expect(native?.getOption(file, 6, 11, 92)).toBeUndefined();
});

test.runIf(native)("the paths of a Unix socket are those that its ends are bound to", async () => {
  const path = unixPath();
  const { client, accepted } = await connection({ path });
  const [ofClient, ofAccepted] = [descriptorOf(client) ?? -1, descriptorOf(accepted) ?? -1];
  expect([native?.localPath(ofClient), native?.remotePath(ofClient)]).toEqual(["", path]);
  expect([native?.localPath(ofAccepted), native?.remotePath(ofAccepted)]).toEqual([path, ""]);
});

test.runIf(native)("a path of the greatest length and an abstract name come whole", async () => {
  const long = unixPath().padEnd(107, "x");
  const ofLong = await connection({ path: long });
  expect(native?.remotePath(descriptorOf(ofLong.client) ?? -1)).toBe(long);

  const abstract = `\0wirescope-${process.pid}`;
  const ofAbstract = await connection({ path: abstract });
  expect(native?.remotePath(descriptorOf(ofAbstract.client) ?? -1)).toBe(abstract);
});

test.runIf(native)("a TCP socket has no path", async () => {
  const { client } = await connection();
  expect(native?.localPath(descriptorOf(client) ?? -1)).toBeUndefined();
});
