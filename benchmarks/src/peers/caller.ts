import type { ChildProcess } from "node:child_process";
import { Agent, request } from "node:http";

/** Calls an echo through a program, whatever that speaks. */
export interface Caller {
  /** Makes the handshake and asks for the tools. Rejects where nobody is there yet, or the tool is not. */
  begin(): Promise<void>;
  /** Rejects where the answer is none. */
  call(): Promise<void>;
  close(): void;
}

const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "0" } };

/** Over Streamable HTTP. */
export function httpCaller(url: string, tool: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = (message: object) => send(agent, "POST", url, headers, JSON.stringify({ jsonrpc: "2.0", ...message }));
  let id = 0;
  return {
    async begin() {
      const { session } = await post({ id: 0, method: "initialize", params });
      if (session !== undefined) headers["mcp-session-id"] = session;
      headers["mcp-protocol-version"] = params.protocolVersion;
      await post({ method: "notifications/initialized" });
      expectText((await post({ id: "list", method: "tools/list", params: {} })).body, "echo");
    },
    async call() {
      id += 1;
      const args = { name: tool, arguments: { text: "hello" } };
      expectText((await post({ id, method: "tools/call", params: args })).body, "hello");
    },
    close: () => agent.destroy(),
  };
}

/** Over the routes of mcp-hub, which are its own. */
export function hubCaller(url: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ server_name: "raw", tool: "echo", arguments: { text: "hello" } });
  return {
    begin: async () => expectText((await send(agent, "GET", `${url}/api/servers`, headers)).body, '"echo"'),
    call: async () => expectText((await send(agent, "POST", `${url}/api/servers/tools`, headers, body)).body, "hello"),
    close: () => agent.destroy(),
  };
}

/** Over the pipes of a program. */
export function stdioCaller({ stdin, stdout }: ChildProcess, tool: string): Caller {
  const waiting = new Map<number, (line: string) => void>();
  let id = 0;
  let rest = "";
  stdout?.setEncoding("utf8");
  stdout?.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { id: answered } = JSON.parse(line) as { id?: number };
      waiting.get(answered ?? 0)?.(line);
      waiting.delete(answered ?? 0);
    }
  });
  const write = (message: object): void => void stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method: string, asked: object): Promise<string> =>
    new Promise((resolve) => {
      id += 1;
      waiting.set(id, resolve);
      write({ id, method, params: asked });
    });
  return {
    async begin() {
      await ask("initialize", params);
      write({ method: "notifications/initialized" });
      expectText(await ask("tools/list", {}), "echo");
    },
    call: async () => expectText(await ask("tools/call", { name: tool, arguments: { text: "hello" } }), "hello"),
    close: () => void stdin?.end(),
  };
}

function expectText(body: string, text: string): void {
  if (!body.includes(text)) throw new Error(`A request was answered with ${body.slice(0, 200)}`);
}

function send(
  agent: Agent,
  method: string,
  url: string,
  headers: Record<string, string>,
  text?: string,
): Promise<{ readonly body: string; readonly session: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ body, session: response.headers["mcp-session-id"] as string | undefined }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(text);
  });
}
