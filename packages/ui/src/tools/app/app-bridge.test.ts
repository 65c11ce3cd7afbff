import { describe, expect, test } from "vitest";
import { type AppHost, createAppBridge } from "./app-bridge.js";

/** A host that records requests, and allows those in `allows`. */
function createHost(allows: readonly string[] = []): { host: AppHost; sent: unknown[]; seen: unknown[] } {
  const [sent, seen]: [unknown[], unknown[]] = [[], []];
  const ask = async (what: string, ...details: unknown[]): Promise<unknown> => {
    seen.push([what, ...details]);
    if (!allows.includes(what)) throw new Error("Not allowed.");
    return { content: [] };
  };
  const host: AppHost = {
    post: (message) => void sent.push(structuredClone(message)),
    callTool: (name, args) => ask("call", name, args),
    readResource: (uri) => ask("read", uri),
    openLink: async (url) => void (await ask("open", url)),
    onHeight: (height) => void seen.push(["height", height]),
    onReady: () => void seen.push(["ready"]),
    context: () => ({ theme: "dark" }),
  };
  return { host, sent, seen };
}

describe("an app", () => {
  test("starts with the context of the page, and says when it is ready", async () => {
    const { host, sent, seen } = createHost();
    const bridge = createAppBridge(host);
    bridge.receive({ jsonrpc: "2.0", id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26" } });
    await expect
      .poll(() => sent)
      .toMatchObject([{ id: 1, result: { protocolVersion: "2026-01-26", hostContext: { theme: "dark" } } }]);
    bridge.receive({ jsonrpc: "2.0", method: "ui/notifications/initialized" });
    expect(seen).toEqual([["ready"]]);
  });

  test("gets an error for a request that the user declines or the page does not support", async () => {
    const { host, sent } = createHost();
    const bridge = createAppBridge(host);
    bridge.receive({ jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "x" } });
    bridge.receive({ jsonrpc: "2.0", id: "b", method: "ui/message", params: {} });
    bridge.receive({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: 7 } });
    await expect.poll(() => sent.length).toBe(3);
    expect(sent).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "a", error: { code: -32_000, message: "Not allowed." } },
        { jsonrpc: "2.0", id: "b", error: { code: -32_601, message: "The page does not support ui/message." } },
        { jsonrpc: "2.0", id: "c", error: { code: -32_602, message: "The parameter name must be a string." } },
      ]),
    );
  });

  test("calls a tool if the user allows it", async () => {
    const { host, sent, seen } = createHost(["call"]);
    createAppBridge(host).receive({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "x", arguments: { a: 1 } },
    });
    await expect.poll(() => sent).toEqual([{ jsonrpc: "2.0", id: 1, result: { content: [] } }]);
    expect(seen).toEqual([["call", "x", { a: 1 }]]);
  });

  test("cannot send too many requests at once, or set a height beyond the limits", async () => {
    const { host, sent, seen } = createHost();
    const waitingHost: AppHost = { ...host, callTool: () => new Promise(() => {}) };
    const bridge = createAppBridge(waitingHost);
    for (let id = 0; id < 50; id += 1)
      bridge.receive({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "x" } });
    await expect.poll(() => sent.length).toBe(42);
    for (const height of [1e9, -5, Number.NaN, "300", 300]) {
      bridge.receive({ jsonrpc: "2.0", method: "ui/notifications/size-changed", params: { height } });
    }
    expect(seen).toEqual([
      ["height", 900],
      ["height", 60],
      ["height", 300],
    ]);
    for (const odd of [null, 1, "x", [], { jsonrpc: "2.0" }, { method: "ping", id: 1 }]) bridge.receive(odd);
    expect(sent).toHaveLength(42);
  });
});
