import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const example = fileURLToPath(new URL("../../../../examples/http2/main.js", import.meta.url));

test("the example prints what Channelz shows of its three requests", async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [example]);
  expect(stderr).toBe("");
  expect(stdout.split("\n")).toEqual([
    "channel: 3 calls, 2 succeeded, 1 failed",
    "server: 3 calls, 2 succeeded, 1 failed",
    "socket: 3 streams, a window of 65535 bytes",
    "",
  ]);
});
