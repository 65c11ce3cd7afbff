import { connectChannelz } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { switchOnPrograms } from "../switch-on.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { endOf, startProcess } from "./running-process.test.helper.js";

test("serves the Channelz of grpc-js with the program in docs/switch-on.md", async () => {
  const port = await freePort();
  const [code = "", ...others] = switchOnPrograms("js", port);
  expect(others).toEqual([]);
  const client = `import { Client, credentials } from "@grpc/grpc-js";
    new Client("127.0.0.1:1", credentials.createInsecure());
    process.stdin.once("data", () => process.exit());`;
  const program = startProcess(process.execPath, ["--input-type=module", "--eval", `${client}\n${code}`], {
    cwd: root,
  });
  const source = connectChannelz(`127.0.0.1:${port}`);
  const targets = async (): Promise<unknown> =>
    source.getTopChannels().then(
      ({ channel }) => channel.map(({ data }) => data?.target),
      ({ code }) => code,
    );
  await expect.poll(targets, { timeout: 60_000 }).toEqual(["127.0.0.1:1"]);
  expect((await source.getServers()).server).toEqual([]);
  await source.close();
  program.process.stdin.write("enough\n");
  expect(await endOf(program)).toMatchObject({ code: 0 });
});
