import { createServer, type Server, type Socket } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, onTestFinished } from "vitest";
import { isRunning } from "../../process/temporary-scripts.test.helper.js";
import { createLineReader } from "../rpc/lines.js";
import { createStdioTransport } from "./stdio-transport.js";
import { defaultLimits } from "./transport.js";
import { describeTransportContract } from "./transport-contract.test.helper.js";

/** A child that forwards its pipes to a socket, so that the server can run in the test. */
const proxy = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  process.stdin.pipe(socket).pipe(process.stdout);
  socket.on("error", () => process.exit(1));
`;

describeTransportContract("stdio", {
  kind: "stdio",
  endsWithServer: true,
  async open(context, serve) {
    const sockets = new Set<Socket>();
    const server = await listening((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
      const write = (text: string): void => void socket.write(`${text}\n`);
      const reply = { send: (message: JSONRPCMessage) => write(JSON.stringify(message)), sendGarbage: write };
      const lines = createLineReader(
        defaultLimits.messageBytes,
        (line) => serve(JSON.parse(line), reply),
        () => {},
      );
      socket.on("data", (chunk) => lines.push(chunk));
    });
    const { port } = server.address() as { port: number };
    const args = ["-e", proxy, String(port)];
    const transport = createStdioTransport({ ...context, command: process.execPath, args, environment: process.env });
    return {
      transport,
      kill: () => void process.kill(transport.pid ?? 0, "SIGKILL"),
      assertGone() {
        expect(transport.pid !== undefined && isRunning(transport.pid)).toBe(false);
        expect(sockets.size).toBe(0);
      },
    };
  },
});

async function listening(onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: false }, onSocket);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
