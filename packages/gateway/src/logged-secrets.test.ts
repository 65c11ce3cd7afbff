import { createSecretRegistry } from "@wirescope/tool-server";
import { expect, test } from "vitest";
import { configurationOf, connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
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

test("[TS-D-SEC-5] logs no argument of a call that the error of its server repeats, while the client gets the whole error", async () => {
  const given = { query: "open sesame", limits: [471147], note: 'a "quoted"\nline' };
  const server = await serveRaw({
    "tools/call"({ id }, response) {
      const message = `wrong password ${given.query}, ${given.limits[0]} and ${JSON.stringify(given.note)}`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
      return undefined;
    },
  });
  const gateway = await startTestGateway({ vault: server.entry }, { secrets: createSecretRegistry() });
  await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
  const client = await connect(gateway, "legacy");
  const failure = String(
    await client.callTool({ name: "vault__echo", arguments: given }).catch((error: unknown) => error),
  );
  expect(failure).toContain("wrong password open sesame, 471147");
  await expect.poll(() => gateway.events.some(({ kind }) => kind === "call"), pollOptions).toBe(true);
  const log = JSON.stringify(gateway.events);
  expect(log).toContain("wrong password [redacted]");
  for (const part of ["sesame", "471147", "quoted"]) expect(log).not.toContain(part);
});
