import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { createReadProgress } from "./read-task.js";

test("reports the number of responses on standard error while a command reads for long", async () => {
  const listener = await listenChannelz(createRegistry());
  onTestFinished(() => listener.close());
  await using connection = connectChannelz(listener.address);
  let stderr = "";
  const io = {
    stdout: { write: () => {} },
    stderr: { write: (text: string) => (stderr += text) },
    env: {},
    now: () => new Date(),
  };
  const { track, end } = createReadProgress(io, 1);
  const source = track(connection);
  await source.getServers();
  await source.getTopChannels();
  await expect.poll(() => stderr).toContain("progress: 2  responses read so far; Ctrl-C prints what was read\n");
  end();
  const printed = stderr;
  await new Promise((resolve) => setImmediate(resolve));
  expect(stderr).toBe(printed);
});
