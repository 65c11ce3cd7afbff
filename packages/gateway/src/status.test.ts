import { expect, test } from "vitest";
import { configurationOf, connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { makeEcho, serve, serveModern } from "./tool-servers.test.helper.js";

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
