import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Call, createCallClient, PhaseKind } from "@wirescope/gateway/admin";
import { expect, onTestFinished, test } from "vitest";
import { startGateway } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld } from "./login-world.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };
/** Moves the clock of a process an hour ahead on a signal, and prints that. */
const leaping = `data:text/javascript,${encodeURIComponent(`
const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;
process.on("SIGUSR2", () => {
  ahead += 3_600_000;
  process.stderr.write("[[leapt]]");
});`)}`;

test("[TS-D-CALLS-1] calls that find an expired token show the refresh that they waited for", async () => {
  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url: world.tool.url } });
  const env = { ...world.env, NODE_OPTIONS: `--import=${leaping}` };
  const options = ["--port", "0", "--log", "off", "--trust", ...world.shared];
  const up = await startGateway(options, { env, cwd: world.folder });
  expect((await world.run(["login", "notes"], { person: browsingPerson() })).code).toBe(0);

  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${up.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(up.endpoint), { requestInit }));
  onTestFinished(() => client.close());
  const tools = async (): Promise<string[]> =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
  await expect.poll(tools, pollOptions).toContain("notes__read");
  up.process.kill("SIGUSR2");
  await expect.poll(() => up.stderr, pollOptions).toContain("[[leapt]]");
  await Promise.all(Array.from({ length: 3 }, () => client.callTool({ name: "notes__read", arguments: {} })));

  const calls = createCallClient({ url: new URL(up.endpoint).origin, token: up.token });
  const readings = async (): Promise<Call[]> => {
    for await (const { calls: all } of calls.watchCalls({})) return all.filter(({ name }) => name === "read");
    return [];
  };
  await expect
    .poll(async () => (await readings()).filter(({ duration }) => duration !== undefined), pollOptions)
    .toHaveLength(3);
  for (const { id } of await readings()) {
    const { call } = await calls.getCall({ id });
    const outline = call?.phases.map(({ kind, depth, failed }) => [kind, depth, failed]);
    expect(outline?.slice(0, 2)).toEqual([
      [PhaseKind.CREDENTIAL, 0, false],
      [PhaseKind.REFRESH, 1, false],
    ]);
    expect(outline).toContainEqual([PhaseKind.SERVER, 0, false]);
  }
});
