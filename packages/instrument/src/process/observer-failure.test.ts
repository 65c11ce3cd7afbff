import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { listening, portOf } from "../sockets/connections.test.helper.js";
import { observeProcess } from "./observe-process.js";

type Adding = "addChannel" | "addSubchannel" | "addSocket" | "addServer" | "addListenSocket";

/** A registry that cannot add one kind of object. */
function brokenRegistry(method: Adding): Registry {
  const registry = createRegistry();
  Object.defineProperty(registry, method, {
    value() {
      throw new Error(`${method} failed`);
    },
  });
  return registry;
}

/** Collects the messages of warnings instead of printing them. */
function collectWarnings(): string[] {
  const messages: string[] = [];
  const printing = process.listeners("warning");
  process.removeAllListeners("warning").on("warning", ({ message }) => void messages.push(message));
  onTestFinished(() => {
    process.removeAllListeners("warning");
    for (const listener of printing) process.on("warning", listener);
  });
  return messages;
}

async function bodyOverHttp1(options: object): Promise<string> {
  const sent = request({ host: "127.0.0.1", method: "POST", ...options }).end("hi");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return text(response);
}

async function bodyOverHttp2(port: number): Promise<string> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const body = await text(session.request({ ":method": "POST" }).end("hi"));
  session.close();
  await once(session, "close");
  return body;
}

test.each<Adding>(["addChannel", "addSubchannel", "addSocket", "addServer", "addListenSocket"])(
  "servers and clients work unobserved if %s of the registry throws",
  async (method) => {
    const warnings = collectWarnings();
    const observation = observeProcess(brokenRegistry(method));
    onTestFinished(() => observation.stop());
    const port = portOf(await listening(createServer((_request, response) => response.end("hello"))));
    const http2Port = portOf(await listening(createHttp2Server((_request, response) => response.end("hello"))));
    const createConnection = () => connect(port, "127.0.0.1");
    expect([
      await bodyOverHttp1({ port }),
      await bodyOverHttp1({ port, createConnection }),
      await bodyOverHttp2(http2Port),
      await (await fetch(`http://127.0.0.1:${port}`)).text(),
    ]).toEqual(["hello", "hello", "hello", "hello"]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.every((message) => message.includes("not shown"))).toBe(true);
  },
);
