import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectChannelz } from "@wirescope/channelz";
import { describe, expect, test } from "vitest";
import type { Io } from "wirescope/internal";
import { main, program, runCommand } from "./command.test.helper.js";
import { type EchoingServer, startEchoingServer } from "./echoing-servers.test.helper.js";
import { programOf } from "./program.test.helper.js";
import { findSecrets } from "./secret-forms.test.helper.js";
import { defer, expectNothingLeft, mark, temporaryFolder, until } from "./tool-server-world.test.helper.js";

expectNothingLeft();

/** Secrets with characters that have to be escaped or encoded. */
const secrets = {
  bearer: "Zq7/bearer+4711==",
  key: 'Xw"apikey\\quoted/8812',
  secret: "Vj apisecret with blanks 5523",
  password: "Nb:basic@pass/word%41 99",
  query: "Hy&query=secret/+7734 end",
  environment: "Tg'env\"pass\\word/3345",
  database: "Rk-database-pass-6621",
  argument: "Lm-argument-token-9987",
  proxy: "Pd:proxy@pass/1123",
  helperOwn: "Cx-helper-own-token-4456",
  helperRandom: "Yv3kT8nB1xZ6mQ4wR9cL2pJ7hF5",
  helperGiven: "Bs-helper-given-key-7789",
  literalHeader: "Ft6gY7hU8jI9kO0lP1qA2sW3dE4",
  literalQuery: "Dk9sL2mQ8wE7rT6yU5iO4pA3sF1",
  literalVariable: "Gj5hK8lZ2xC7vB4nM1qW9eR6tY3",
  literalSetting: "Wt4bQ9xN2mV7cJ1hL6kR3pS8dF5",
} as const;

const basic = Buffer.from(`me:${secrets.password}`).toString("base64");

function environmentOf({ port }: EchoingServer, home: string): Record<string, string> {
  return {
    // Short, because the rest is cut.
    PATH: "/usr/bin:/bin",
    HOME: home,
    BEARER_TOKEN: secrets.bearer,
    API_KEY: secrets.key,
    API_SECRET: secrets.secret,
    BASIC_CREDENTIALS: basic,
    QUERY_SECRET: secrets.query,
    DB_PASSWORD: secrets.environment,
    DATABASE_URL: `postgres://me:${secrets.database}@db.example/x`,
    ARGUMENT_TOKEN: secrets.argument,
    HELPER_KEY: secrets.helperGiven,
    HTTPS_PROXY: `http://me:${encodeURIComponent(secrets.proxy)}@127.0.0.1:${port}`,
    NO_PROXY: "no-such-host.invalid",
  };
}

/** A helper, as a file of the project. */
function writeHelper(folder: string, name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return `\${HOST_PLUGIN_ROOT}/${name}`;
}

/** Everything that can go wrong, with secrets everywhere; or only one of the servers. */
function writeConfiguration(folder: string, { origin }: EchoingServer, only?: string): string {
  const headers = {
    Authorization: "Bearer ${BEARER_TOKEN}",
    "X-API-Key": "${API_KEY}",
    "X-API-Secret": "${API_SECRET}",
  };
  const over = (path: string, type = "http", more: object = { headers }): object => ({
    type,
    url: `${type === "ws" ? origin.replace("http", "ws") : origin}/${path}?key=\${QUERY_SECRET}`,
    ...more,
  });
  const helper = (name: string, script: string, path = "unauthorized"): object =>
    over(path, "http", { headersHelper: writeHelper(folder, name, script) });
  const token = `{\\"Authorization\\": \\"Bearer ${secrets.helperOwn}\\"}`;
  const child = (script: string): object => ({
    command: process.execPath,
    args: ["-e", script, mark, "--token=${ARGUMENT_TOKEN}"],
    env: { DB_PASSWORD: "${DB_PASSWORD}", DATABASE_URL: "${DATABASE_URL}" },
  });
  const everything = "JSON.stringify(process.env) + process.argv.join(' ')";
  const servers = {
    unauthorized: over("unauthorized"),
    forbidden: over("forbidden", "http", { headers: { Authorization: "Basic ${BASIC_CREDENTIALS}" } }),
    failing: over("failing"),
    "failing-basic": over("failing", "http", { headers: { Authorization: "Basic ${BASIC_CREDENTIALS}" } }),
    "failing-json": over("failing-json"),
    page: over("page"),
    type: over("type"),
    raw: over("raw"),
    header: over("header"),
    elsewhere: over("elsewhere"),
    "elsewhere-host": over("elsewhere-host"),
    responses: over("responses"),
    events: over("events", "sse"),
    "events-failing": over("failing", "sse"),
    "events-unauthorized": over("unauthorized", "sse"),
    "socket-refused": over("refused", "ws"),
    "socket-closed": over("closed", "ws"),
    gone: { type: "http", url: "http://127.0.0.1:1/mcp?key=${QUERY_SECRET}", headers },
    unknown: { type: "http", url: "https://no-such-host.invalid/mcp?key=${QUERY_SECRET}", headers },
    proxied: { type: "http", url: "https://api.example.com/mcp?key=${QUERY_SECRET}", headers },
    "helper-fails": helper("fails", `echo "${token}"; env >&2; echo "$HTTPS_PROXY $HELPER_KEY ${token}" >&2; exit 3`),
    "helper-mumbles": helper("mumbles", `echo "cannot sign with ${secrets.helperRandom}" >&2; exit 4`),
    "helper-garbage": helper("garbage", `echo "token ${secrets.helperOwn} $HELPER_KEY"`),
    "helper-wrong": helper("wrong", `echo "{\\"${secrets.helperOwn} x\\": \\"$HELPER_KEY\\"}"`),
    "helper-refused": helper("refused", `echo "${token}"`),
    "child-exits": child(`console.error(${everything}); process.exit(3)`),
    "child-strays": child(`console.log(${everything}); setTimeout(() => process.exit(4), 300)`),
    "child-refuses": child(`process.stdin.on("data", (line) => { const { id } = JSON.parse(line);
      console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -1, message: ${everything}, data: process.env } })); })`),
    "child-missing": { command: "no-such-program", args: ["--token", "${ARGUMENT_TOKEN}"] },
    "literal-header": over("failing", "http", { headers: { Authorization: `Bearer ${secrets.literalHeader}` } }),
    "literal-variable": { command: process.execPath, env: { API_KEY: secrets.literalVariable } },
    "literal-setting": { command: process.execPath, args: ["--setting", secrets.literalSetting] },
    "literal-query": { type: "http", url: `${origin}/failing?api_key=${secrets.literalQuery}` },
  };
  const file = join(folder, ".mcp.json");
  const written = Object.entries(servers).filter(([name]) => only === undefined || name === only);
  writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(written) }, null, 2));
  return file;
}

interface Place {
  readonly server: EchoingServer;
  readonly folder: string;
  readonly file: string;
  readonly env: Record<string, string>;
}

async function prepare(only?: string): Promise<Place> {
  const folder = temporaryFolder();
  const home = join(folder, "home");
  mkdirSync(home);
  const server = await startEchoingServer();
  return { server, folder, file: writeConfiguration(folder, server, only), env: environmentOf(server, home) };
}

interface Output {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a process to its end, and collects its output; `onOutput` gets the end of it so far, and may send input. */
async function run(
  args: readonly string[],
  { folder, env }: Place,
  onOutput: (end: string, write: (text: string) => void) => Promise<void> = async () => {},
): Promise<Output> {
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: "pipe" });
  defer(() => child.kill("SIGKILL"));
  let output = "";
  let end = "";
  let talking: Promise<void> = Promise.resolve();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
      const endNow = end + chunk;
      end = endNow.slice(-100);
      talking = talking.then(() => onOutput(endNow, (text) => child.stdin.write(text)));
    });
  }
  const [code] = await once(child, "close");
  await talking;
  return { code, output };
}

/** Runs the command line in this process. */
async function runHere(argv: readonly string[], env: Place["env"]): Promise<Output> {
  const { code, stdout, stderr } = await runCommand(argv, { env });
  return { code, output: stdout + stderr };
}

describe("[TS-SEC-5] secrets", () => {
  test("leaks no secret in errors, published events, Channelz, or the output of a crash", async () => {
    const place = await prepare();
    const application = await programOf(new URL("leaky-application.test.helper.ts", import.meta.url));
    let channelz = "";
    const { code, output } = await run([application, place.file, mark], place, async (end, write) => {
      const address = /\[\[channelz (\S+)\]\]/.exec(end)?.[1];
      if (address === undefined || channelz !== "") return;
      channelz = "reading";
      channelz = await readChannelz(address);
      write("crash\n");
    });
    // The server received everything, and everything failed as it should.
    for (const [name, secret] of Object.entries(secrets)) {
      if (!/^(environment|database|argument|helperGiven|helperRandom|literal\w+)$/.test(name)) {
        expect([name, place.server.allReceived().includes(secret)]).toEqual([name, true]);
      }
    }
    const codes = ["UNAUTHORIZED", "FORBIDDEN", "SERVER_FAILED", "REDIRECT_REFUSED", "HELPER_FAILED", "CHILD_EXITED"];
    for (const code of [...codes, "RESPONSE_INVALID", "CALL_REFUSED", "SERVER_UNREACHABLE", "ENTRY_INVALID"]) {
      expect([code, output.includes(`'${code}'`)]).toEqual([code, true]);
    }
    expect(output.includes("[redacted]")).toBe(true);
    expect(/\nError: .* failed\n/.test(output)).toBe(true);
    expect(code).not.toBe(0);
    expect(channelz.includes("helper-refused")).toBe(true);
    expect(findSecrets(output, secrets)).toEqual([]);
    expect(findSecrets(channelz, secrets)).toEqual([]);
  });

  test("[TS-DIAG-1] prints no secret with --debug, whatever the command", async () => {
    const place = await prepare();
    const env = { ...place.env, WIRESCOPE_DEBUG: "1" };
    const options = ["--debug", "--allow-insecure-loopback", "--config", place.file, "--no-color"];
    const asked = [
      ["tools", "--trust"],
      ["ping", "--trust", "--json"],
      ["call", "responses", "progress", "--trust"],
      ["call", "responses", "nothing", "--trust"],
      ["call", "responses", "invalid", "--trust", "--json"],
      // There is no terminal to ask for trust.
      ["tools"],
    ];
    const all = await Promise.all(
      asked.map((args, index) =>
        // One as a separate process, whose output is not only what the command prints.
        index === 0 ? run([program, ...args, ...options], { ...place, env }) : runHere([...args, ...options], env),
      ),
    );
    for (const [index, { code, output }] of all.entries()) {
      const args = asked[index]?.join(" ") ?? "";
      expect([args, code, output.includes("Unexpected error")]).toEqual([
        args,
        args.includes("nothing") ? 2 : 1,
        false,
      ]);
      expect([args, findSecrets(output, secrets)]).toEqual([args, []]);
      if (args.includes("--trust")) expect([args, output.includes("[redacted]")]).toEqual([args, true]);
    }
  });

  test("prints no part of a secret if text is truncated to the width of a terminal", async () => {
    const place = await prepare("responses");
    for (const columns of [40, 60, 80, 100, 120]) {
      let said = "";
      const output = {
        write: (text: string) => {
          said += text;
        },
        isTTY: true,
        columns,
      };
      const io: Io = { stdout: output, stderr: output, env: place.env, now: () => new Date() };
      const options = ["--trust", "--allow-insecure-loopback", "--config", place.file];
      for (const args of [
        ["tools", "responses"],
        ["tools", "responses", "well"],
        ["ping", "responses"],
      ]) {
        await main([...args, ...options], io);
      }
      await main(["call", "responses", "progress", ...options], io);
      expect([columns, findSecrets(said, secrets)]).toEqual([columns, []]);
    }
  });

  test("prints no secret in wirescope check and wirescope trust", async () => {
    const place = await prepare();
    const check = await runHere(["check", place.file], place.env);
    const trust = await runHere(["trust", "--config", place.file], place.env);
    expect([check.output.includes("literal-query"), trust.output.includes("literal-query")]).toEqual([true, true]);
    expect(findSecrets(check.output + trust.output, secrets)).toEqual([]);
  });
});

/** Every Channelz response, as text. */
async function readChannelz(address: string): Promise<string> {
  const source = connectChannelz(address);
  try {
    const responses: unknown[] = [];
    await until(async () => {
      responses.length = 0;
      const top = await source.getTopChannels();
      responses.push(top);
      const last = top.channel.reduce((most, { ref }) => Math.max(most, Number(ref?.channelId ?? 0)), 0);
      // Also closed objects, which can be looked up for a while.
      for (let id = 1; id <= last + 200; id += 1) {
        const found = await Promise.allSettled([source.getChannel(id), source.getSubchannel(id), source.getSocket(id)]);
        for (const each of found) if (each.status === "fulfilled") responses.push(each.value);
      }
    });
    return JSON.stringify(responses, (_, value) => (typeof value === "bigint" ? String(value) : value));
  } finally {
    await source.close();
  }
}
