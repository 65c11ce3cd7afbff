import { createSecretRegistry } from "@wirescope/tool-server";
import { expect, test } from "vitest";
import { configurationOf, connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { loggedReason } from "./logged-reason.js";
import { serveRaw } from "./raw-server.test.helper.js";
import { serve } from "./tool-servers.test.helper.js";

test("[TS-D-SEC-4] logs our own sentences whole if the rejected token is a word in them", async () => {
  const port = await serve((_, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end());
  const entry = {
    type: "http",
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { Authorization: "Bearer ${API_TOKEN}" },
  };
  const configuration = configurationOf({ wrong: entry }, { variables: { API_TOKEN: "wrong" } });
  const { gateway, events } = await startTestGateway({}, { configurations: [configuration] });
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("UNAUTHORIZED");
  const reasons = events.flatMap((event) => (event.kind === "server-state" ? (event.reason ?? []) : []));
  expect(reasons.join()).toContain('"wrong"');
  expect(reasons.join()).toContain("may be wrong, revoked");
  expect(gateway.servers()[0]?.failure?.message).toContain("may be wrong, revoked");
});

test("[TS-D-SEC-4] redacts a token that is a word in the error of its server", async () => {
  const server = await serveRaw({
    "tools/call"({ id }, response) {
      response.writeHead(200, { "content-type": "application/json" });
      const message = "wrong is not a valid token";
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
      return undefined;
    },
  });
  const entry = { ...server.entry, headers: { Authorization: "Bearer ${API_TOKEN}" } };
  const configuration = configurationOf({ vault: entry }, { variables: { API_TOKEN: "wrong" } });
  const gateway = await startTestGateway({}, { configurations: [configuration] });
  await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
  const client = await connect(gateway, "legacy");
  const call = client.callTool({ name: "vault__echo", arguments: {} });
  await expect(call).rejects.toThrow("[redacted] is not a valid token");
  await expect.poll(() => JSON.stringify(gateway.events), pollOptions).toContain("[redacted] is not a valid token");
  expect(JSON.stringify(gateway.events)).not.toContain("wrong");
});

const text = `${"The patient Zoe has had a fever since Monday. ".repeat(80)}\nPin: 47114\r\n  Room 12b`;

test.each<[string, object, string, readonly string[]]>([
  [
    "values of any depth, plain and as JSON",
    { query: "open sesame", limits: [{ of: [471147] }], note: 'a "quoted"\nline' },
    `open sesame, 471147 and ${JSON.stringify('a "quoted"\nline')}`,
    ["sesame", "471147", "quoted"],
  ],
  ["several lines", { text: text.slice(-100) }, text.slice(-100), ["Monday", "47114", "Room"]],
  ["more than fits", { text }, text, ["Zoe", "Monday"]],
  ["a part", { text }, `"${text.slice(12, 40)}..."`, ["Zoe", "fever"]],
  ["an encoded value", { text: "Zoe & Ann" }, encodeURIComponent("Zoe & Ann"), ["Zoe", "Ann"]],
  ["one of too many values", { list: Array.from({ length: 2000 }, (_, index) => `Zoe ${index}`) }, "Zoe 7", ["Zoe"]],
  ["a part of too long a value", { text: `${text.repeat(80)}secret` }, "secret", ["secret"]],
])(
  "[TS-D-SEC-5] logs no argument if the error of the server repeats %s, while the client gets it",
  async (_, given, said, parts) => {
    const server = await serveRaw({
      "tools/call"({ id }, response) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(
          JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: `wrong argument ${said}` } }),
        );
        return undefined;
      },
    });
    const gateway = await startTestGateway({ vault: server.entry }, { secrets: createSecretRegistry() });
    await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
    const client = await connect(gateway, "legacy");
    const call = client.callTool({ name: "vault__echo", arguments: { ...given } });
    await expect(call).rejects.toThrow(`wrong argument ${said.replace(/[\r\n]\s*/g, " ").slice(0, 1000)}`);
    await expect.poll(() => gateway.events.some(({ kind }) => kind === "call"), pollOptions).toBe(true);
    const log = JSON.stringify(gateway.events);
    expect(log).toMatch(/wrong argument \W*\[redacted\]|The error is not logged/);
    for (const part of parts) expect(log).not.toContain(part);
  },
);

test.each([
  ["the argument of a completion", { argument: { name: "who", value: "Zoe Baker" } }],
  ["what the user replied", { inputResponses: { name: { action: "accept", content: { person: "Zoe Baker" } } } }],
])("[TS-D-SEC-5] logs %s as redacted if the error of a server repeats it", (_, params) => {
  expect(loggedReason("No person Zoe Baker.", params, 1000, (text) => text)).toBe("No person [redacted].");
});
