import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import { initializeResult, respondJson, resultOf } from "../../connection/transports/streamable-http.test.helper.js";
import { channels, type ToolServerChannelName, type ToolServerMessages } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { TrustDecision } from "../../trust/evaluate-trust.js";
import type { WalkEvidence } from "../evidence.js";
import { explainOptionsOf, startToolServer, trusted } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { walkServer } from "./walk-server.js";

const url = "https://api.example/mcp";
const untrusted = {
  state: "new",
  approval: { server: "api" },
  subject: { fingerprint: { files: [] } },
} as unknown as TrustDecision;
const untrustedOptions = { evaluateTrust: async () => untrusted };
const failure = (code: "APPROVALS_UNREADABLE" | "SERVER_FAILED", problem: string) =>
  new ToolServerError(code, { problem, advice: "" });

const walk = (entry: unknown, options: Partial<ExplainOptions> = {}, onEvidence?: (seen: WalkEvidence) => void) =>
  walkServer(explainOptionsOf(entry, options), onEvidence);

describe("an entry", () => {
  test("describes an entry with its positions, variables, tenants and the last failure, without secrets", async () => {
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const headers = { Authorization: "Bearer ${TOKEN}", "X-Again": "${TOKEN}", "X-Tenant-ID": "${TENANT_ID}" };
    const seen = await walk(
      { type: "http", url, headers },
      {
        ...untrustedOptions,
        secrets,
        variables: { TOKEN: "a-token-of-mine", TENANT_ID: "acme" },
        lastFailure: failure("SERVER_FAILED", "It said a-secret-of-mine."),
      },
    );
    expect(seen).toMatchObject({
      server: "api",
      type: "http",
      file: "/plugin/.mcp.json",
      isGateway: false,
      commandArguments: [],
      signInArguments: [],
      findings: [],
      values: [],
      variables: ["TOKEN", "TENANT_ID"],
      tenants: [{ variable: "TENANT_ID" }],
      earlier: { code: "SERVER_FAILED", message: "It said [redacted]." },
      trust: { state: "new" },
    });
    expect(seen.positions).toMatchObject({
      entry: { line: 3, column: 5 },
      url: { line: 5, column: expect.any(Number) },
    });
    const gateway = await walk(
      { type: "http", url },
      { ...untrustedOptions, setVariable: () => "", commandArguments: ["-c"], signInArguments: ["-s"] },
    );
    expect(gateway).toMatchObject({ isGateway: true, commandArguments: ["-c"], signInArguments: ["-s"], tenants: [] });
    expect(gateway.earlier).toBeUndefined();
  });

  test("neither trusts nor uses an entry that has an error, and reports the position of the error", async () => {
    const evaluateTrust = () => Promise.reject(new Error("It was evaluated."));
    const seen = await walk({ type: "http", url, headers: { Host: "example.com" } }, { evaluateTrust });
    expect(seen).toMatchObject({ findings: [{ severity: "error", server: "api" }] });
    expect(seen.trust).toBeUndefined();
    const invalid = await walk("text", { evaluateTrust });
    expect(invalid).toMatchObject({ type: undefined, positions: { entry: { line: 3 } }, variables: [], tenants: [] });
  });

  test("reports the value of a variable only if its text has no finding of the same kind at the same place", async () => {
    const entry = { type: "http", url, headers: { Authorization: "${TOKEN}", "X-API-Key": "${KEY}" } };
    const variables = { TOKEN: "a-token-of-mine" };
    const { findings, values } = await walk(entry, { ...untrustedOptions, variables });
    const placeOf = ({ code, path }: { code: string; path: readonly unknown[] }) => `${code} ${path.join(".")}`;
    const places = [...findings, ...values].map(placeOf);
    expect(new Set(places).size).toBe(places.length);
    expect(values.map(placeOf)).toContainEqual(expect.stringContaining("X-API-Key"));
  });

  test.each([
    ["https://api.example:99999/", [], ["url-invalid"], []],
    ["https://api.example:99999/", ["X-Key"], ["url-invalid"], ["variable-unset"]],
    ["https://${UNSET}.example/#part", [], ["url-fragment"], ["variable-unset"]],
  ])("reports a finding of the entry and its values once: %s %j", async (url, unset, ofText, ofValues) => {
    const headers = Object.fromEntries(unset.map((name) => [name, "${UNSET}"]));
    const { findings, values } = await walk({ type: "http", url, headers }, untrustedOptions);
    expect(findings.map(({ code }) => code)).toEqual(ofText);
    expect(values.map(({ code }) => code)).toEqual(ofValues);
  });

  test("ignores the findings of another server, and throws for an unknown one", async () => {
    const options = explainOptionsOf({ type: "http", url }, untrustedOptions);
    await expect(walkServer({ ...options, server: "other" })).rejects.toMatchObject({ code: "SERVER_UNKNOWN" });
    const [finding] = explainOptionsOf({ type: "http", url, headers: { Host: "x" } }).configuration.findings;
    if (finding === undefined) throw new Error("There is no finding.");
    const findings = [{ ...finding, server: "other" }];
    const seen = await walkServer({ ...options, configuration: { ...options.configuration, findings } });
    expect(seen).toMatchObject({ findings: [], trust: { state: "new" } });
  });
});

describe("trust", () => {
  test.each([
    ["approval", "Approved, and not changed since."],
    ["policy", "Allowed by the policy."],
    ["flag", "Trusted for this run."],
  ] as const)("reports why an entry is trusted: %s", async (by, reason) => {
    const evaluateTrust = async () => ({ ...trusted, by }) as TrustDecision;
    const { trust } = await walk({ type: "http", url: "https://${UNSET}.example/" }, { evaluateTrust });
    expect(trust).toEqual({ state: "trusted", reason });
  });

  test("reports that trust cannot be decided without a secret, and hides no defect", async () => {
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const unreadable = () => Promise.reject(failure("APPROVALS_UNREADABLE", "a-secret-of-mine is damaged."));
    const { trust } = await walk({ type: "http", url }, { secrets, evaluateTrust: unreadable });
    expect(trust).toEqual({ state: "unreadable", reason: "[redacted] is damaged." });
    const defect = () => Promise.reject(new TypeError("A defect."));
    await expect(walk({ type: "http", url }, { evaluateTrust: defect })).rejects.toThrow("A defect.");
  });

  test("reports nothing but the trust if it is revoked during the walk", async () => {
    const server = await startToolServer();
    const secrets = createSecretRegistry();
    let asked = 0;
    const evaluateTrust = async () => {
      asked += 1;
      return asked === 1 ? trusted : untrusted;
    };
    const seen = await walk({ type: "http", url: server.url.href }, { secrets, evaluateTrust });
    expect(seen.trust).toMatchObject({ state: "changed", reason: expect.stringContaining('"api"') });
    expect(seen).not.toHaveProperty("attempt");
    expect(seen).not.toHaveProperty("network");
  });
});

describe("the timeout of a walk", () => {
  test.each([
    [{ type: "http", url }, undefined, 60_000],
    [{ command: "node" }, undefined, 60_000],
    [{ command: "npx", args: ["x"] }, undefined, 180_000],
    [{ command: "npx" }, 5000, 5000],
  ])("allows a program that may have to be downloaded more time: %j", async (entry, totalMs, expected) => {
    const delays: number[] = [];
    const clock = createFakeClock();
    const after: typeof clock.after = (delayMs, wake) => {
      delays.push(delayMs);
      return clock.after(delayMs, wake);
    };
    await walk(entry, { ...untrustedOptions, totalMs, clock: { now: clock.now, after } });
    expect(delays).toEqual([expected]);
    expect(clock.waiting).toBe(0);
  });
});

describe("evidence", () => {
  test("reports the evidence of a walk as it is collected", async () => {
    const server = await startToolServer();
    const reported: string[] = [];
    const seen = await walk({ type: "http", url: server.url.href }, {}, (known) =>
      reported.push(
        Object.entries(known)
          .filter(([name, value]) => ["trust", "helper", "network", "attempt"].includes(name) && value !== undefined)
          .map(([name]) => name)
          .join(" "),
      ),
    );
    expect(reported).toEqual(["", "trust", "trust", "trust network", "trust network attempt"]);
    expect(seen).toMatchObject({ network: { connected: {} }, attempt: { connected: { name: expect.any(String) } } });
    expect(seen.alternative).toBeUndefined();
    expect(seen.oauth).toBeUndefined();
    expect(seen.offer).toBeUndefined();
  });

  test("reports a file of variables that cannot be read as a failure, without a secret", async () => {
    const folder = await createScriptFolder();
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const entry = { command: process.execPath, envFile: "./a-secret-of-mine.env" };
    const seen = await walk(entry, { secrets, pluginRoot: folder.path });
    expect(seen.attempt).toMatchObject({
      credential: "none",
      failure: { code: "VARIABLE_UNUSABLE", advice: expect.stringMatching(/\S/) },
    });
    expect(seen.attempt?.failure?.message).toContain("[redacted].env");
    expect(seen.child).toBeUndefined();
  });

  test("passes the variables of a file to the process", async () => {
    const folder = await createScriptFolder();
    await writeFile(join(folder.path, "own.env"), "OWN_NAME=localhost\n");
    const script = "console.error('OWN_NAME is ' + process.env.OWN_NAME); process.exit(1)";
    const entry = { command: process.execPath, args: ["-e", script], envFile: "./own.env" };
    const seen = await walk(entry, { pluginRoot: folder.path });
    expect(seen.child?.stderr).toContain("OWN_NAME is localhost");
  });

  test("reports a stored sign-in even if the server is unreachable", async () => {
    const openVault = async () => createMemoryVault();
    const entry = { type: "http", url: "http://localhost:1/" };
    const { network, attempt, oauth } = await walk(entry, { oauth: { profile: "test", openVault } });
    expect(network?.failure).toMatchObject({ stage: "connection", code: "ECONNREFUSED" });
    expect(attempt).toBeUndefined();
    expect(oauth).toMatchObject({ before: { isSignedIn: false } });
  });

  test("reports invalid settings of TLS instead of a connection", async () => {
    const secrets = createSecretRegistry();
    const seen = await walk({ type: "http", url: "https://api.example:8443/mcp" }, { secrets, ca: "no certificate" });
    expect(seen.network).toEqual({
      host: "api.example",
      port: 8443,
      isSecure: true,
      authorities: ["--ca"],
      addresses: [],
      failure: { stage: "settings", code: expect.stringMatching(/^[A-Z_]+$/), message: expect.any(String) },
    });
    const plain = await walk({ type: "ws", url: "ws://localhost:1/" }, { ca: "no certificate" });
    expect(plain.network).toMatchObject({ isSecure: false, port: 1, failure: { stage: "settings" } });
    const secure = await walk({ type: "ws", url: "wss://api.example/" }, { ca: "no certificate" });
    expect(secure.network).toMatchObject({ isSecure: true, port: 443 });
  });
});

describe("an entry without a type", () => {
  /** A server of the older transport, HTTP with SSE, at `/sse`. */
  const startOlder = async () => {
    const streams = new Set<{ write(text: string): unknown }>();
    return startHostileServer(({ method, url: path, body }, response) => {
      if (method === "GET" && path === "/sse") {
        response.writeHead(200, { "content-type": "text/event-stream" }).write("event: endpoint\ndata: /messages\n\n");
        streams.add(response);
        response.once("close", () => streams.delete(response));
      } else if (method === "POST" && path === "/messages") {
        response.writeHead(202).end();
        const message = JSON.parse(body);
        if (message.id === undefined) return;
        const result = message.method === "initialize" ? initializeResult : {};
        for (const stream of streams) stream.write(`event: message\ndata: ${resultOf(message, result)}\n\n`);
      } else response.writeHead(405).end();
    });
  };

  test("connects to an entry without a type with the older transport, as a connection does", async () => {
    const server = await startOlder();
    const older = new URL("/sse", server.url).href;
    expect(await walk({ url: older })).toMatchObject({
      attempt: { connected: { era: "legacy" } },
      alternative: undefined,
    });
    // One with a type is not.
    const typed = await walk({ type: "http", url: older });
    expect(typed).toMatchObject({ attempt: { failure: { code: expect.any(String) } }, alternative: { type: "sse" } });
    // One at another url is not.
    const elsewhere = await walk({ url: new URL("/mcp", server.url).href });
    expect(elsewhere).toMatchObject({
      attempt: { failure: { code: typed.attempt?.failure?.code } },
      alternative: { type: "sse", url: older },
    });
  });
});

describe("the trace", () => {
  const listen = <Name extends ToolServerChannelName>(name: Name): ToolServerMessages[Name][] => {
    const messages: ToolServerMessages[Name][] = [];
    const keep = (message: unknown): void => void messages.push(message as ToolServerMessages[Name]);
    channels[name].subscribe(keep);
    onTestFinished(() => void channels[name].unsubscribe(keep));
    return messages;
  };

  test("records the names of the headers that were sent, and only values that are not secret", async () => {
    const events = listen("trace");
    const server = await startToolServer((_, response) => {
      response.writeHead(401, { "www-authenticate": "Bearer realm=x" }).end();
    });
    const headers = {
      Authorization: "Bearer ${API_TOKEN}",
      "X-API-Key": "${API_KEY}",
      "X-Tenant-ID": "${TENANT_ID}",
      "X-Region": "eu",
    };
    const variables = { API_TOKEN: "a-token-of-mine", API_KEY: "a-key-of-mine", TENANT_ID: "acme" };
    await walk({ type: "http", url: `${server.url.href}?page=1`, headers }, { variables });
    const [line = ""] = events.map(({ text }) => text).filter((text) => text.startsWith("POST"));
    expect(line).toContain(`POST ${server.url.origin}/mcp with `);
    expect(line).toContain("Authorization: Bearer [redacted]");
    expect(line).toContain("X-API-Key: [redacted]");
    expect(line).toContain("X-Tenant-ID: acme");
    expect(line).toContain("X-Region: [redacted]");
    expect(line).toContain(" returned 401; challenge: Bearer");
    expect(line).not.toMatch(/a-token|a-key|page=1/);
  });

  test("says that a request has no credential, and that the diagnosis ended", async () => {
    const events = listen("trace");
    const transports = listen("transport:closed");
    const connections = listen("connection:closed");
    const server = await startToolServer(({ message }, response) => {
      if (message.method === "initialize") respondJson(response, resultOf(message, initializeResult));
    });
    await walk({ type: "http", url: server.url.href });
    const lines = events.map(({ text }) => text).filter((text) => text.startsWith("POST"));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/ without a credential returned \d+$/);
    for (const ended of [transports, connections])
      expect(ended.filter(({ reason }) => reason === "The diagnosis ended.")).toHaveLength(1);
    await expect.poll(() => server.sockets.size).toBe(0);
  });
});
