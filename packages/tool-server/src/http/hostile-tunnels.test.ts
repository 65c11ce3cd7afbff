import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failureOf } from "../failure-of.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import {
  certificate,
  type HostileServer,
  serverTls,
  startHostileServer,
  startRawServer,
} from "./hostile-http-server.test.helper.js";
import { createTestClient, get } from "./http-client.test.helper.js";

const responseOf = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const established = "HTTP/1.1 200 Connection established\r\n\r\n";
const trusted = { tls: { ca: certificate("ca") } } as const;

/** Forwards data to `port` and back; `change` may replace each chunk on the way back. */
function forward(socket: Socket, port: number, change: (bytes: Buffer, index: number) => Buffer): void {
  const joined = connect({ host: "localhost", port });
  let index = 0;
  joined.on("error", () => {});
  socket.on("data", (bytes) => joined.write(bytes));
  socket.on("close", () => joined.destroy());
  joined.on("data", (bytes) => {
    socket.write(change(bytes, index));
    index += 1;
  });
  joined.on("close", () => socket.destroy());
  onTestFinished(() => void joined.destroy());
}

/** A proxy that sends `first` to a client that asks for a tunnel, in one piece, and `later` after that. */
function startScriptedProxy(first: string, later: string): Promise<HostileServer> {
  return startRawServer((socket) => {
    socket.once("data", () => {
      socket.write(first);
      socket.on("data", () => socket.write(later));
    });
  });
}

describe("TLS that breaks", () => {
  /** An invalid TLS record. */
  const garbage = Buffer.concat([Buffer.from("1703030020", "hex"), Buffer.alloc(32, 1)]);
  const alert = Buffer.from("15030300020228", "hex");

  test.each([
    ["with an invalid record", garbage],
    ["with an alert", alert],
    ["with a record that is too long", Buffer.from("170303ffff", "hex")],
  ])("fails only the request if TLS breaks right after the handshake %s", async (_, added) => {
    for (const maxVersion of ["TLSv1.3", "TLSv1.2"] as const) {
      const secure = await startHostileServer((_request, response) => response.end("x"), {
        tls: { ...serverTls(), maxVersion },
      });
      const last = maxVersion === "TLSv1.3" ? 0 : 1;
      const server = await startRawServer((socket) =>
        forward(socket, secure.port, (bytes, index) => (index === last ? Buffer.concat([bytes, added]) : bytes)),
      );
      const { http, published } = createTestClient(trusted);
      for (let round = 0; round < 3; round += 1) {
        const failure = await failureOf(http.send(get(new URL(`https://localhost:${server.port}/`))));
        expect(failure.code).toMatch(/^(SERVER_UNREACHABLE|CONNECTION_LOST)$/);
      }
      await http.close();
      expect(published.totals().closed).toBe(published.totals().opened);
      await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
    }
  });

  test("reports a response during whose body TLS breaks", async () => {
    const secure = await startHostileServer((_, response) => response.write("half"), { tls: serverTls() });
    const server = await startRawServer((socket) => forward(socket, secure.port, (bytes) => bytes));
    const { http } = createTestClient(trusted);
    const response = await http.send(get(new URL(`https://localhost:${server.port}/`)));
    for (const socket of server.sockets) socket.write(garbage);
    expect(await failureOf(response.text(1000))).toMatchObject({ code: "CONNECTION_LOST" });
  });

  test("reuses a TLS connection with large bodies and slow readers", async () => {
    const size = 512 * 1024;
    const server = await startHostileServer((_, response) => response.end(Buffer.alloc(size, "x")), {
      tls: serverTls(),
    });
    const { http, published } = createTestClient(trusted);
    for (let round = 0; round < 3; round += 1) {
      const response = await http.send(get(server.url));
      let bytes = 0;
      await response.read(async (chunk) => {
        bytes += chunk.length;
        await new Promise((resolve) => setImmediate(resolve));
      });
      expect(bytes).toBe(size);
    }
    expect(published.totals()).toMatchObject({ opened: 1, "stream-succeeded": 3 });
  });
});

describe("bytes that come together with the response of a proxy", () => {
  const url = new URL("http://notes.test/mcp");

  test("discards a response that arrives before its request", async () => {
    const whole = responseOf("hello");
    for (const cut of [1, 20, whole.length]) {
      const proxy = await startScriptedProxy(established + whole.slice(0, cut), whole.slice(cut));
      const { http, published } = createTestClient({ variables: { HTTP_PROXY: `http://localhost:${proxy.port}` } });
      expect(await failureOf(http.send(get(url)))).toMatchObject({
        code: "NOT_A_TOOL_SERVER",
        details: { wasSent: false },
      });
      expect(published.reasons).toEqual(["The server sent an unsolicited response."]);
      await vi.waitFor(() => expect(proxy.sockets.size).toBe(0), waiting);
    }
  });

  test("reports bytes behind the proxy's response that are not an HTTP response", async () => {
    const proxy = await startScriptedProxy(`${established}SSH-2.0-x\r\n`, "");
    const { http } = createTestClient({ variables: { HTTP_PROXY: `http://localhost:${proxy.port}` } });
    expect(await failureOf(http.send(get(url)))).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
    await vi.waitFor(() => expect(proxy.sockets.size).toBe(0), waiting);
  });

  test("reports bytes behind the proxy's response that are not TLS", async () => {
    const proxy = await startScriptedProxy(established + responseOf("hello"), "");
    const { http } = createTestClient({ variables: { HTTPS_PROXY: `http://localhost:${proxy.port}` } });
    const failure = await failureOf(http.send(get(new URL("https://notes.test/mcp"))));
    expect(failure).toMatchObject({ code: "SERVER_UNREACHABLE" });
    await vi.waitFor(() => expect(proxy.sockets.size).toBe(0), waiting);
  });
});
