import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connectByOptions, isAddressOf } from "./connect-by-options.js";
import { connectionOptions } from "./connection-options.js";
import { parseOptions } from "./options.js";

test.each([
  ["127.0.0.1:4690", "127.0.0.1:4690"],
  ["127.0.0.1:4690", ":4690"],
  ["127.0.0.1:4690", "4690"],
  ["127.0.0.1:4690", "localhost:4690"],
  ["127.0.0.1:4690", "http://127.0.0.1:4690"],
  ["[::1]:4690", "[::1]:4690"],
  ["https://localhost:4690", "localhost:4690"],
  ["https://127.0.0.1:4690", "https://127.0.0.1:4690"],
  ["unix:/run/a.sock", "unix:/run/a.sock"],
])("recognizes the gateway at %s by the target %s", (gateway, named) => {
  expect(isAddressOf(gateway, named)).toBe(true);
});

test.each([
  ["127.0.0.1:4690", "127.0.0.1:4691"],
  ["127.0.0.1:4690", "127.0.0.2:4690"],
  ["127.0.0.1:4690", "[::1]:4690"],
  ["127.0.0.1:4690", "example.com:4690"],
  ["127.0.0.1:4690", "https://127.0.0.1:4690"],
  ["https://127.0.0.1:4690", "http://127.0.0.1:4690"],
  ["127.0.0.1:4690", "http://127.0.0.1:4690/other"],
  ["192.0.2.1:4690", "192.0.2.1:4690"],
  ["https://gateway.example:4690", "https://gateway.example:4690"],
  ["unix:/run/a.sock", "unix:/run/b.sock"],
  ["127.0.0.1:4690", "unix:/run/a.sock"],
])("does not recognize the gateway at %s by the target %s, and sends no token there", (gateway, named) => {
  expect(isAddressOf(gateway, named)).toBe(false);
});

test("suggests starting a gateway or naming a process if nothing responds at the default target", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { values } = parseOptions(connectionOptions, ["--server-name", "localhost"]);
  // Nothing speaks TLS on that port, even if a process listens there.
  await using connections = await connectByOptions(values, { env: { XDG_RUNTIME_DIR: folder } });
  await expect(connections.source.getServers()).rejects.toMatchObject({
    code: "PEER_UNAVAILABLE",
    message: expect.stringMatching(/ start one with wirescope up, or name a process with --target\.$/),
  });
});
