import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnectTransport } from "@connectrpc/connect-node";
import { connectChannelz, mergeSources } from "@wirescope/channelz";
import { listenChannelz } from "@wirescope/channelz/listener";
import { createRegistry } from "@wirescope/channelz/registry";
import { createTimelineClient, readSnapshot } from "@wirescope/channelz/timeline";
import { createRecording } from "@wirescope/channelz/timeline/node";
import { expect, onTestFinished, test } from "vitest";
import type { TargetConnections } from "../connect-by-options.js";
import type { Io } from "../io.js";
import { connectRecording } from "../recorded-target.js";
import { serveTargetPage } from "./serve-target-page.js";

/** A process that speaks Channelz; returns its target. */
async function startProcess(name: string, token?: string): Promise<string> {
  const registry = createRegistry();
  const channel = registry.addChannel({ name, target: `dns:///${name}` });
  const listener = await listenChannelz(registry, token === undefined ? {} : { token });
  onTestFinished(async () => {
    await listener.close({ deadlineMs: 0 });
    // Held until here: a channel that the application drops is removed.
    channel.close();
  });
  return listener.address;
}

function connectTo(targets: readonly string[], token?: string): Pick<TargetConnections, "source" | "parts"> {
  const parts = targets.map((target) => {
    const source = connectChannelz(target, token === undefined ? {} : { token });
    onTestFinished(() => source.close());
    return { origin: targets.length === 1 ? "" : target, name: target, target, source };
  });
  const [first] = parts;
  return { parts, source: parts.length === 1 && first !== undefined ? first.source : mergeSources(parts) };
}

interface OpenedPage {
  readonly link: string;
  readonly output: { readonly targets: readonly string[] };
  /** Ends it as Ctrl-C does, and returns the exit code. */
  stop(): Promise<number>;
}

async function serve(connections: Pick<TargetConnections, "source" | "parts">): Promise<OpenedPage> {
  let stdout = "";
  const write = (text: string): boolean => {
    stdout += text;
    return true;
  };
  const io: Io = { stdout: { write }, stderr: { write: () => true }, env: {}, now: () => new Date() };
  const interruption = new AbortController();
  const options = { port: undefined, json: true, "no-color": true, open: false };
  const served = serveTargetPage(connections, options, io, interruption.signal);
  const stop = (): Promise<number> => {
    interruption.abort();
    return served;
  };
  onTestFinished(() => void stop());
  await expect.poll(() => stdout).toContain("\n");
  const { link, ...output } = JSON.parse(stdout);
  return { link, output, stop };
}

/** The headers that a browser sends after it has opened the link. */
async function enter(link: string): Promise<Record<string, string>> {
  const response = await fetch(link);
  const [, key = ""] = /(?:data-key="|\/status\/)([\w-]{43})/.exec(await response.text()) ?? [];
  return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "", "x-wirescope-csrf": key };
}

function timelineOf(link: string, headers: Record<string, string>): ReturnType<typeof createTimelineClient> {
  const transport = createConnectTransport({
    baseUrl: new URL(link).origin,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return createTimelineClient(transport);
}

test("[TS-D-PAGE-7] serves the page of another process, which a token guards, until it is interrupted", async () => {
  const target = await startProcess("orders", "secret-token");
  const { link, output, stop } = await serve(connectTo([target], "secret-token"));
  expect(output.targets).toEqual([target]);
  const { origin } = new URL(link);
  const headers = await enter(link);
  expect(await (await fetch(`${origin}/session`, { headers })).json()).toMatchObject({
    kind: "target",
    targets: [target],
    features: { servers: false, tools: false, calls: false, capture: false },
  });
  const read = async (given: Record<string, string>): Promise<Response> =>
    fetch(`${origin}/grpc.channelz.v1.Channelz/GetTopChannels`, {
      method: "POST",
      headers: { "content-type": "application/json", ...given },
      body: "{}",
    });
  expect(await (await read(headers)).text()).toContain("orders");
  expect((await read({})).status).toBe(401);
  // The token of the target opens the target, not the page.
  expect((await read({ authorization: "Bearer secret-token" })).status).toBe(401);
  expect((await fetch(`${origin}/mcp`, { method: "POST", headers })).status).toBe(404);
  expect(await stop()).toBe(0);
  await expect(fetch(origin)).rejects.toThrow();
});

test("[TS-D-PAGE-7] streams the objects of several processes, and says which of them does not respond", async () => {
  const [first, second] = [await startProcess("orders"), await startProcess("stock")];
  const { link } = await serve(connectTo([first, second, "127.0.0.1:1"]));
  const headers = await enter(link);
  for await (const { snapshot } of timelineOf(link, headers).watch()) {
    const names = [...snapshot.objects.values()].map(({ name }) => name);
    if (!names.some((name) => name.includes("stock"))) continue;
    expect(names.some((name) => name.includes("orders"))).toBe(true);
    const silent = snapshot.origins.filter(({ error }) => error !== undefined);
    expect(silent.map(({ target }) => target)).toEqual(["127.0.0.1:1"]);
    break;
  }
});

test("[TS-D-PAGE-12] serves the whole timeline of a recording, not only the moment of the target", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-recorded-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "night.wsr");
  const writer = createRecording(path);
  const registry = createRegistry();
  const channel = registry.addChannel({ name: "orders", target: "orders:443" });
  for (const [timeMs, state] of [[1_700_000_000_000, "READY"] as const, [1_700_000_060_000, "SHUTDOWN"] as const]) {
    channel.setState(state);
    writer.append({ ...(await readSnapshot(registry)), timeMs });
  }
  writer.close();
  channel.close();
  const source = connectRecording(`file:${path}`, () => {});
  const part = { origin: "", name: source.target, target: source.target, source };
  const { link } = await serve({ source, parts: [part] });
  const { range, changes } = await timelineOf(link, await enter(link)).history({});
  expect(range).toEqual({ firstMs: 1_700_000_000_000, lastMs: 1_700_000_060_000 });
  expect(changes.length).toBeGreaterThan(0);
});

test("advises to restart the command if a link was already used", async () => {
  const { link } = await serve(connectTo([await startProcess("one")]));
  await enter(link);
  const response = await fetch(link);
  expect(response.status).toBe(403);
  expect(await response.text()).toContain("Restart wirescope page --target …, which prints a new link.");
});

test("advises to restart the command if a browser has no session or no key", async () => {
  const { link } = await serve(connectTo([await startProcess("one")]));
  const { origin } = new URL(link);
  const { cookie = "" } = await enter(link);
  const advice = "Restart wirescope page --target …, which prints a new link.";
  for (const [path, headers] of [
    ["/session", {}],
    ["/session", { cookie }],
    ["/status", { cookie }],
    [`/status/${"x".repeat(43)}`, { cookie }],
  ] as const) {
    expect(await (await fetch(`${origin}${path}`, { headers })).text(), path).toContain(advice);
  }
  await expect(timelineOf(link, { cookie }).at(1)).rejects.toThrow(advice);
});
