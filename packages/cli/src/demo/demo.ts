import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../version.js";
import { type DemoRefusal, type HttpToolServer, startHttpToolServer } from "./servers/http-tool-server.js";
import { startDemoAuthorizationServer, startNotesServer } from "./servers/notes-server.js";

/** Tool servers with different kinds of authentication on this machine, with a configuration in a temporary folder. */
export interface Demo {
  readonly root: string;
  /** Its configuration. */
  readonly file: string;
  /** The variables that it needs. */
  readonly variables: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** A headers helper that signs the time. The key is in its environment. */
const helper = `#!/usr/bin/env node
const { createHmac } = require("node:crypto");
const time = String(Date.now());
const signature = createHmac("sha256", process.env.WEATHER_KEY).update(time).digest("hex");
console.log(JSON.stringify({ "X-Timestamp": time, "X-Signature": signature }));
`;

/** Starts the servers and writes their configuration. */
export async function startDemo(): Promise<Demo> {
  const authorization = await startDemoAuthorizationServer();
  const weather = await startWeatherServer();
  const [notes, ledger] = await Promise.all([startNotesServer(authorization), startLedgerServer()]);
  const servers: readonly Pick<HttpToolServer, "close">[] = [weather, notes, ledger, authorization];
  const root = await realpath(await mkdtemp(join(tmpdir(), "wirescope-demo-")));
  const file = join(root, ".mcp.json");
  const clock = fileURLToPath(new URL("bundle/clock-server.mjs", packageRoot));
  const entries = {
    clock: { command: process.execPath, args: [clock] },
    weather: { type: "http", url: weather.url, headersHelper: "${HOST_PLUGIN_ROOT}/sign-weather.cjs" },
    notes: { type: "http", url: notes.url },
    ledger: { type: "http", url: ledger.url, headers: { Authorization: "Bearer ${LEDGER_TOKEN}" } },
  };
  await writeFile(file, `${JSON.stringify({ mcpServers: entries }, null, 2)}\n`);
  await writeFile(join(root, "sign-weather.cjs"), helper);
  await chmod(join(root, "sign-weather.cjs"), 0o755);
  return {
    root,
    file,
    variables: { WEATHER_KEY: weather.key, LEDGER_TOKEN: expiredToken() },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** A server that requires each request to be signed, which a helper does. */
interface WeatherServer extends HttpToolServer {
  /** What the helper signs with. */
  readonly key: string;
}

const maxAgeMs = 60_000;
const weathers = ["sunny", "cloudy", "rain", "snow", "fog"];

async function startWeatherServer(): Promise<WeatherServer> {
  const key = randomBytes(32).toString("hex");
  const server = await startHttpToolServer({
    name: "weather",
    tools: [
      {
        name: "forecast",
        description: "Returns the weather in a city",
        parameters: ["city"],
        call: ({ city }) => `${String(city)}: ${weathers[String(city).length % weathers.length]}`,
      },
    ],
    refuse: (request) => checkSignature(request, key),
  });
  return { ...server, key };
}

/** The signature of a time, as the helper computes it. */
function signTime(time: string, key: string): string {
  return createHmac("sha256", key).update(time).digest("hex");
}

function checkSignature({ headers }: IncomingMessage, key: string): DemoRefusal | undefined {
  const time = String(headers["x-timestamp"] ?? "");
  const signature = Buffer.from(String(headers["x-signature"] ?? ""));
  const expected = Buffer.from(signTime(time, key));
  const isSigned = signature.length === expected.length && timingSafeEqual(signature, expected);
  const isFresh = Math.abs(Date.now() - Number(time)) < maxAgeMs;
  if (isSigned && isFresh) return undefined;
  return { status: 401, challenge: `Signature error="${isSigned ? "the time is too old" : "the signature is wrong"}"` };
}

/** A server that refuses every token, so that there is something to diagnose. */
function startLedgerServer(): Promise<HttpToolServer> {
  return startHttpToolServer({
    name: "ledger",
    tools: [],
    refuse: () => ({
      status: 401,
      challenge: 'Bearer realm="ledger", error="invalid_token", error_description="The token expired."',
    }),
  });
}

/** A token that expired an hour ago. Nobody checks its signature. */
function expiredToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  return `${part({ alg: "HS256" })}.${part({ sub: "demo", iat: now - 7200, exp: now - 3600 })}.c2lnbmF0dXJl`;
}
