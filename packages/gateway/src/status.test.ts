import { expect, test } from "vitest";
import { configurationOf, connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { makeEcho, modernListener, serve, serveModern } from "./tool-servers.test.helper.js";

const variable = (name: string): string => `\${${name}}`;
const secret = "s3cret-of-the-ledger-0123456789";

test.each(["legacy", "modern"] as const)(
  "lists unavailable servers with their reason in the instructions and in wirescope://status (%s)",
  async (era) => {
    const refusing = await serve((_, response) => void response.writeHead(401).end(`You sent Bearer ${secret}`));
    const entries = {
      echo: { type: "http", url: await serveModern(makeEcho("echo")) },
      ledger: {
        type: "http",
        url: `http://127.0.0.1:${refusing}/mcp`,
        headers: { Authorization: `Bearer ${variable("LEDGER_TOKEN")}` },
      },
      unset: { command: "node", env: { KEY: variable("NOT_SET") } },
    };
    const configured = configurationOf(entries, { variables: { LEDGER_TOKEN: secret } });
    const gateway = await startTestGateway({}, { configurations: [configured] });
    const failures = () => gateway.gateway.servers().map(({ failure }) => failure?.code);
    await expect.poll(failures, pollOptions).toEqual([undefined, "UNAUTHORIZED", "VARIABLE_UNUSABLE"]);
    await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);

    const client = await connect(gateway, era);
    const instructions = client.getInstructions() ?? "";
    expect(instructions).toMatch(/^- ledger: unavailable: The server "ledger" refused/m);
    expect(instructions).toMatch(/^- unset: unavailable: .*NOT_SET/m);
    expect(instructions).toMatch(/^- echo \(1 tool\)$/m);
    expect(instructions).toContain("The resource wirescope://status has the current state of each server.");

    expect((await client.listResources()).resources).toMatchObject([{ uri: "wirescope://status" }]);
    const { contents } = await client.readResource({ uri: "wirescope://status" });
    const [content] = contents;
    const text = content !== undefined && "text" in content ? content.text : "";
    expect(JSON.parse(text).servers).toEqual([
      { name: "echo", state: "connected", tools: 1 },
      { name: "ledger", state: "failing", code: "UNAUTHORIZED", reason: expect.stringContaining("refused") },
      { name: "unset", state: "failing", code: "VARIABLE_UNUSABLE", reason: expect.stringContaining("NOT_SET") },
    ]);
    expect(instructions + text).not.toContain(secret);
  },
);

test.each(["legacy", "modern"] as const)(
  "names the contact instead of commands in what clients get about a failing server, and keeps the commands for the operator (%s)",
  async (era) => {
    const entries = { unset: { command: "node", env: { KEY: variable("input:key") } } };
    let contact: string | undefined = "#tools on Slack";
    const gateway = await startTestGateway(entries, { contact: () => contact, limits: { listMs: 300 } });
    const failure = () => gateway.gateway.servers()[0]?.failure?.message;
    await expect.poll(failure, pollOptions).toContain("wirescope inputs key");
    const client = await connect(gateway, era);
    const status = async () => JSON.stringify(await client.readResource({ uri: "wirescope://status" }));
    const call = () => client.callTool({ name: "unset__echo", arguments: {} });

    expect(client.getInstructions()).toContain("Ask #tools on Slack about those that are unavailable.");
    expect(client.getInstructions()).not.toContain("wirescope inputs");
    expect(await status()).toContain(" Ask #tools on Slack.");
    expect(await status()).not.toContain("wirescope inputs");
    await expect(call()).rejects.toThrow(/because server unset is down: .* Ask #tools on Slack\.$/);
    const logged = gateway.events.filter((event) => event.kind === "server-state" || event.kind === "call");
    expect(
      logged.map((event) => event.reason ?? "").filter((reason) => reason.includes("wirescope inputs key")),
    ).toHaveLength(2);

    contact = undefined;
    await expect(call()).rejects.toThrow("wirescope inputs key");
    expect(await status()).toContain("wirescope inputs key");
  },
);

test("names the contact if the credential of a server is refused during a call, and leaves advice for the caller", async () => {
  let isRevoked = false;
  const listener = modernListener(makeEcho("echo"));
  const port = await serve((request, response) => {
    if (isRevoked) response.writeHead(401).end();
    else listener(request, response);
  });
  const headers = { Authorization: `Bearer ${variable("LEDGER_TOKEN")}` };
  const entries = { echo: { type: "http", url: `http://127.0.0.1:${port}/mcp`, headers } };
  const configurations = [configurationOf(entries, { variables: { LEDGER_TOKEN: secret } })];
  const options = { configurations, contact: () => "Mia (tools@example.com)", limits: { resultBytes: 2000 } };
  const client = await connect(await startTestGateway({}, options), "legacy");
  const call = (text: string) => client.callTool({ name: "echo__echo", arguments: { text } });
  await call("a");
  await expect(call("a".repeat(3000))).rejects.toThrow(/or raise the limit\.$/);
  isRevoked = true;
  await expect(call("a")).rejects.toThrow(/LEDGER_TOKEN.* Ask Mia \(tools@example\.com\)\.$/);
});
