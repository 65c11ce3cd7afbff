import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createRegistry } from "@wirescope/channelz";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { connectToolServer } from "@wirescope/tool-server";
import type { ToolServerLocation } from "@wirescope/tool-server/config";
import { median } from "./compare.js";
import { callInFlight } from "./in-flight.js";
import { figure, type Row } from "./report.js";
import { startServing } from "./serving-process.js";

const inFlight = 16;
const rounds = 12;
/** Rounds that do not count: enough for the compiler. */
const warmUps = 4;
const callsPerRound = 1500;
const info = { name: "bench", version: "0" };

interface Side {
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * What a `tools/call` of an echo costs the client, in CPU: the SDK's client on its own transport, and our connection, watched
 * and not, on the same server, with 16 calls in flight.
 */
export async function benchToolCalls(): Promise<Row[]> {
  // The SDK's own transport adds a listener to one signal for each request, and Node warns of each past 1,500.
  process.removeAllListeners("warning");
  const rows: Row[] = [];
  const http = await startServing<{ port: number }>("raw-tool-server.js", ["http"]);
  try {
    const url = `http://127.0.0.1:${http.ready.port}/mcp`;
    rows.push(...(await compareSides("Streamable HTTP", 0.4, await sdkOverHttp(url), { url })));
  } finally {
    await http.stop();
  }
  const raw = fileURLToPath(new URL("raw-tool-server.js", import.meta.url));
  const command = { command: process.execPath, args: [raw, "stdio"] };
  rows.push(...(await compareSides("stdio", 1.2, await sdkOverStdio(command), command)));
  return rows;
}

async function compareSides(name: string, most: number, sdk: Side, server: ToolServerLocation): Promise<Row[]> {
  const ours = await openOurs(server);
  const samples = { sdk: [] as number[], ours: [] as number[], watched: [] as number[] };
  const compare = async (kind: "ours" | "watched"): Promise<void> => {
    for (let round = -warmUps; round < rounds; round += 1) {
      for (const side of round % 2 === 0 ? (["sdk", kind] as const) : ([kind, "sdk"] as const)) {
        const cost = await measure(side === "sdk" ? sdk : ours);
        if (round >= 0) samples[side].push(cost);
      }
    }
  };
  try {
    // One after the other, because starting and stopping an observation makes the compiler start over.
    await compare("ours");
    const observation = observeToolServers({ registry: createRegistry() });
    await compare("watched");
    observation.stop();
  } finally {
    await Promise.all([sdk.close(), ours.close()]);
  }
  const [theirs, plain, watched] = [median(samples.sdk), median(samples.ours), median(samples.watched)];
  const row = (work: string, value: number, base: number, goal?: number): Row => ({
    work: `${name}: ${work}`,
    ours: `${figure(value)} µs`,
    theirs: `${figure(base)} µs`,
    ratio: value / base,
    goal: goal === undefined ? "" : `at most ${goal.toFixed(2)}`,
    ...(goal !== undefined && { isMet: value / base <= goal }),
  });
  return [
    row("CPU of a call, seen in Channelz", watched, theirs, most),
    row("CPU of a call, not watched", plain, theirs),
    row("watched (left) against not watched", watched, plain),
  ];
}

/** Microseconds of CPU of this process for each call. */
async function measure(side: Side): Promise<number> {
  const before = process.cpuUsage();
  await callInFlight(side.call, inFlight, callsPerRound);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / callsPerRound;
}

async function sdkOverHttp(url: string): Promise<Side> {
  return sdkSide(new StreamableHTTPClientTransport(new URL(url)));
}

async function sdkOverStdio({ command, args }: { command: string; args: string[] }): Promise<Side> {
  return sdkSide(new StdioClientTransport({ command, args }));
}

async function sdkSide(transport: StreamableHTTPClientTransport | StdioClientTransport): Promise<Side> {
  const client = new Client(info);
  await client.connect(transport);
  return {
    call: () => client.callTool({ name: "echo", arguments: { text: "hello" } }),
    close: () => client.close(),
  };
}

async function openOurs(server: ToolServerLocation): Promise<Side> {
  const connection = await connectToolServer(server, { name: "raw", client: { info } });
  return {
    call: () => connection.callTool({ name: "echo", arguments: { text: "hello" } }),
    close: () => connection.close(),
  };
}
