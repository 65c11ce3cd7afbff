import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { socketsCommand } from "../commands/read-commands.js";
import type { Io } from "../io.js";
import { parseOptions } from "../options.js";
import { createScreen } from "../output/screen.js";
import { readSockets } from "./socket-list.js";

test("shows the cipher of TLS connections in the table of sockets, which requires more than a summary", async () => {
  const registry = createRegistry();
  const subject = {};
  registry.addSocket({
    server: registry.addServer(),
    subject,
    describe: () => ({ security: { tls: { standardName: "TLS_AES_256_GCM_SHA384" } } }),
  });
  const listener = await listenChannelz(registry);
  onTestFinished(() => listener.close());
  const source = connectChannelz(listener.address);
  onTestFinished(() => source.close());
  let stdout = "";
  const io = { stdout: { write: (text: string) => (stdout += text) }, env: {}, now: () => new Date() } as unknown as Io;
  const values = parseOptions(socketsCommand.options, []).values as unknown as Parameters<
    typeof readSockets
  >[0]["values"];
  const targets = [{ origin: "", target: listener.address, source }];
  const { signal } = new AbortController();
  await readSockets({ targets, screen: createScreen(io, true), values, positionals: [], signal });
  expect(stdout).toContain("TLS_AES_256_GCM_SHA384");
  expect(subject).toEqual({});
});
