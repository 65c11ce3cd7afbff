import type { ChildProcess } from "node:child_process";
import { Agent } from "node:http";
import { beginRawSession, handshake, type RawSession, send } from "./raw-session.js";

/** Calls an echo through a program, whatever that speaks. */
export interface Caller {
  /** Does the handshake and lists the tools. Rejects if nothing listens yet, or the tool is missing. */
  begin(): Promise<void>;
  /** Rejects if the response is not valid. */
  call(): Promise<void>;
  close(): void;
}

/** The maximum number of connections of a caller. */
const maxSockets = 64;

/** Over Streamable HTTP. */
export function httpCaller(url: string, tool: string, token?: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets });
  let session: RawSession | undefined;
  let id = 0;
  const ask = async (message: object): Promise<string> => {
    if (session === undefined) throw new Error("The caller has not begun.");
    return session.post(message);
  };
  return {
    async begin() {
      session = await beginRawSession(url, agent, token);
      expectText(await ask({ id: "list", method: "tools/list", params: {} }), "echo");
    },
    async call() {
      id += 1;
      const args = { name: tool, arguments: { text: "hello" } };
      expectText(await ask({ id, method: "tools/call", params: args }), "hello");
    },
    close: () => agent.destroy(),
  };
}

/** Over the routes of mcp-hub, which are its own. */
export function hubCaller(url: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets });
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
      const { id: respondedId } = JSON.parse(line) as { id?: number };
      waiting.get(respondedId ?? 0)?.(line);
      waiting.delete(respondedId ?? 0);
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
      await ask("initialize", handshake);
      write({ method: "notifications/initialized" });
      expectText(await ask("tools/list", {}), "echo");
    },
    call: async () => expectText(await ask("tools/call", { name: tool, arguments: { text: "hello" } }), "hello"),
    close: () => void stdin?.end(),
  };
}

function expectText(body: string, text: string): void {
  if (!body.includes(text)) throw new Error(`The response to a request was ${body.slice(0, 200)}`);
}
