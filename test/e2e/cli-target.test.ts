import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, runCommand, startGateway } from "./command.test.helper.js";

test("uses the token of the running gateway if --target names it, and sends it to no other target", async () => {
  const { home, folder, configure } = createUserFolder();
  configure({});
  const up = await startGateway(["--port", "0", "--log", "off"], {
    env: { HOME: home, PATH: process.env.PATH },
    cwd: folder,
  });
  const { host, port } = new URL(up.endpoint);
  const env = { HOME: home };
  for (const target of [host, `localhost:${port}`, `:${port}`, `http://${host}`]) {
    expect(await runCommand(["servers", "--target", target], { env })).toMatchObject({ code: 0, stderr: "" });
  }
  expect(await runCommand(["servers"], { env: { ...env, WIRESCOPE_TARGET: host } })).toMatchObject({ code: 0 });

  const received: unknown[] = [];
  const other = createServer().on("stream", (stream, headers) => {
    received.push(headers.authorization);
    stream.respond({ ":status": 404 }, { endStream: true });
  });
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port: otherPort } = other.address() as AddressInfo;
  for (const target of [`127.0.0.1:${otherPort}`, `localhost:${otherPort}`]) {
    expect((await runCommand(["servers", "--target", target], { env })).code).toBe(1);
  }
  expect(received.length).toBeGreaterThan(0);
  expect(received.filter((token) => token !== undefined)).toEqual([]);
});
