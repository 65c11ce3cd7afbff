import { type IncomingMessage, request, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { publish } from "../diagnostics.js";
import { ConnectObstacle } from "./connect-failure.js";
import type { ProxyServer } from "./proxy-settings.js";

/** Sends CONNECT to a proxy to open a tunnel to `target` over `socket`. If it fails, rejects and destroys the socket. */
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
    asked.once("connect", (response, joined: Socket, head) => {
      const obstacle = obstacleOf(response, proxy);
      if (obstacle !== undefined) return fail(obstacle);
      signal.removeEventListener("abort", onAbort);
      if (head.length > 0) joined.unshift(head);
      resolve(joined);
    });
    asked.once("response", (response) => fail(obstacleOf(response, proxy) ?? notAProxy()));
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
  // The standard reason phrase: the proxy's own may repeat a part of the password.
  const words = `the proxy returned ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim();
  if (statusCode === 407) {
    const advice =
      authorization === undefined
        ? `It requires a user and a password: add them to ${variable}, as in http://user:password@host:port.`
        : `It rejects the user or the password in ${variable}: correct them.`;
    return new ConnectObstacle(words, advice, statusCode);
  }
  if (statusCode === 403)
    return new ConnectObstacle(
      words,
      "It denies access to this host: ask its administrator, or add the host to NO_PROXY.",
      statusCode,
    );
  return new ConnectObstacle(
    words,
    "It could not reach the server: check the host and port in the URL, or add the host to NO_PROXY.",
    statusCode,
  );
}

function notAProxy(): ConnectObstacle {
  return new ConnectObstacle(
    "the server there is not a proxy that supports CONNECT",
    "Check the host and port of the proxy.",
  );
}
