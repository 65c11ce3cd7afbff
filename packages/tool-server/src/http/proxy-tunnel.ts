import { type IncomingMessage, request, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { publish } from "../diagnostics.js";
import { ConnectObstacle } from "./connect-failure.js";
import type { ProxyServer } from "./proxy-settings.js";

/** Asks a proxy, by CONNECT, to join `socket` with `target`. Rejects where it does not, and destroys the socket. */
export function openTunnel(socket: Socket, target: string, proxy: ProxyServer, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    publish("proxy:tunnel-requested", socket);
    const asked = request({
      method: "CONNECT",
      path: target,
      createConnection: () => socket,
      headers: {
        host: target,
        ...(proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization }),
      },
    });
    asked.once("connect", (answer, joined: Socket, head) => {
      const obstacle = obstacleOf(answer, proxy);
      if (obstacle !== undefined) return fail(obstacle);
      signal.removeEventListener("abort", onAbort);
      if (head.length > 0) joined.unshift(head);
      resolve(joined);
    });
    asked.once("response", (answer) => fail(obstacleOf(answer, proxy) ?? notAProxy()));
    asked.on("error", (error: Error & { code?: string }) => {
      // The parser's code; the rest are errors of the socket.
      fail(error.code?.startsWith("HPE_") ? notAProxy() : error);
    });
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    asked.end();
  });
}

function obstacleOf({ statusCode = 0 }: IncomingMessage, proxy: ProxyServer): ConnectObstacle | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  const { variable, authorization } = proxy;
  // In the usual words: its own may repeat the password, also in part.
  const words = `the proxy answered ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim();
  if (statusCode === 407) {
    const advice =
      authorization === undefined
        ? `It requires a user and a password: put a user and a password into ${variable}, as http://user:password@host:port.`
        : `It does not accept the user or the password in ${variable}: correct them.`;
    return new ConnectObstacle(words, advice, statusCode);
  }
  if (statusCode === 403)
    return new ConnectObstacle(
      words,
      "It does not let you go there: ask who runs it, or exempt the host in NO_PROXY.",
      statusCode,
    );
  return new ConnectObstacle(
    words,
    "It could not reach the server itself: check the host and port in the url, or exempt the host in NO_PROXY.",
    statusCode,
  );
}

function notAProxy(): ConnectObstacle {
  return new ConnectObstacle(
    "what answers there is no proxy that knows CONNECT",
    "Check the host and port of the proxy.",
  );
}
