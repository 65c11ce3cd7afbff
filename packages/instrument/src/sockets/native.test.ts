import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connection, unixPath } from "./connections.test.helper.js";
import { findNativeSockets, nativeSockets, whyNoSocketOptions } from "./native.js";
import { descriptorOf } from "./socket-internals.js";

const linux = { platform: "linux", arch: "x64", require: createRequire(import.meta.url) } as const;
const refuse = (): never => {
  throw new TypeError("unexpected require");
};

function reasonOf(outcome: ReturnType<typeof findNativeSockets>): string | undefined {
  return "reason" in outcome ? outcome.reason : undefined;
}

test("names a package that is not installed, with the command to install it", () => {
  const require = createRequire(join(tmpdir(), "nothing-is-installed-here.js"));
  expect(reasonOf(findNativeSockets({ ...linux, require }))).toBe(
    "Socket options require the optional package koffi, which is not installed. Run `npm install koffi` to see them.",
  );
});

test("returns the reason instead of an error if a package fails to load", () => {
  const require = (): never => {
    throw new Error("Cannot find the native Koffi module\nRequire stack: many lines");
  };
  expect(reasonOf(findNativeSockets({ ...linux, require }))).toBe(
    "Socket options require the package koffi, which cannot be loaded: Cannot find the native Koffi module",
  );
  expect(reasonOf(findNativeSockets({ ...linux, require: () => ({}) }))).toContain("cannot be loaded");
});

test("loads nothing on another platform, or if the layout of the structs is unknown", () => {
  expect(reasonOf(findNativeSockets({ ...linux, platform: "darwin", require: refuse }))).toBe(
    "Socket options are available only on Linux; this is darwin.",
  );
  expect(reasonOf(findNativeSockets({ ...linux, arch: "s390x", require: refuse }))).toContain("this is s390x");
});

const native = nativeSockets();

test("caches the result, with a reason only if there are no options", () => {
  expect(whyNoSocketOptions() === undefined).toBe(native !== undefined);
  expect(nativeSockets()).toBe(native);
});

test.runIf(native)("returns no options and no paths for an invalid descriptor or one that is not a socket", () => {
  const closed = 1_000_000;
  const file = process.stderr.fd;
  expect(native?.getOption(closed, 1, 9, 4)).toBeUndefined();
  expect(native?.localPath(closed)).toBeUndefined();
  expect(native?.getOption(-1, 1, 9, 4)).toBeUndefined();
  expect(native?.getOption(file, 6, 11, 92)).toBeUndefined();
});

test.runIf(native)("returns the paths that the ends of a Unix socket are bound to", async () => {
  const path = unixPath();
  const { client, accepted } = await connection({ path });
  const [ofClient, ofAccepted] = [descriptorOf(client) ?? -1, descriptorOf(accepted) ?? -1];
  expect([native?.localPath(ofClient), native?.remotePath(ofClient)]).toEqual(["", path]);
  expect([native?.localPath(ofAccepted), native?.remotePath(ofAccepted)]).toEqual([path, ""]);
});

test.runIf(native)("returns a path of maximum length and an abstract name in full", async () => {
  const long = unixPath().padEnd(107, "x");
  const ofLong = await connection({ path: long });
  expect(native?.remotePath(descriptorOf(ofLong.client) ?? -1)).toBe(long);

  const abstract = `\0wirescope-${process.pid}`;
  const ofAbstract = await connection({ path: abstract });
  expect(native?.remotePath(descriptorOf(ofAbstract.client) ?? -1)).toBe(abstract);
});

test.runIf(native)("returns no path for a TCP socket", async () => {
  const { client } = await connection();
  expect(native?.localPath(descriptorOf(client) ?? -1)).toBeUndefined();
});
