import { createServer, type IncomingHttpHeaders, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy in front of a local server that requires a valid credential. Ends with the test. */
export interface Guard {
  readonly port: number;
  /** How many requests it forwarded, and refused. */
  readonly passed: number;
  readonly refused: number;
}

export interface GuardOptions {
  /** The port of the server. */
  readonly before: number;
  readonly isGood: (headers: IncomingHttpHeaders) => boolean | Promise<boolean>;
  /** The issuer in its metadata. Default: no metadata. */
  readonly issuer?: string | undefined;
  /** The path of the server. */
  readonly path: string;
}

const metadataPath = "/.well-known/oauth-protected-resource";

export async function startGuard({ before, isGood, issuer, path }: GuardOptions): Promise<Guard> {
  const guard = { port: 0, passed: 0, refused: 0 };
  const origin = (): string => `http://127.0.0.1:${guard.port}`;
  const accepts = async (headers: IncomingHttpHeaders): Promise<boolean> => {
    const isAccepted = await isGood(headers);
    guard[isAccepted ? "passed" : "refused"] += 1;
    return isAccepted;
  };
  const challenge = (): string =>
    issuer === undefined ? "Basic" : `Bearer resource_metadata="${origin()}${metadataPath}${path}"`;

  const server = createServer(async (incoming, outgoing) => {
    const { url = "", method = "GET", headers } = incoming;
    if (issuer !== undefined && url.startsWith(metadataPath)) {
      outgoing.writeHead(200, { "content-type": "application/json" });
      const document = {
        resource: `${origin()}${path}`,
        authorization_servers: [issuer],
        scopes_supported: ["notes:read"],
      };
      outgoing.end(JSON.stringify(document));
      return;
    }
    if (!(await accepts(headers))) {
      incoming.resume();
      outgoing.writeHead(401, { "www-authenticate": challenge() }).end();
      return;
    }
    const onward = request({ host: "127.0.0.1", port: before, path: url, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
      // The headers of an event stream must not wait for the first event.
      outgoing.flushHeaders();
    });
    onward.once("error", () => outgoing.destroy());
    outgoing.once("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.on("upgrade", async (incoming, socket, head) => {
    socket.on("error", () => {});
    if (!(await accepts(incoming.headers))) {
      socket.end(`HTTP/1.1 401 Unauthorized\r\nwww-authenticate: ${challenge()}\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const lines: string[] = [];
    const { rawHeaders } = incoming;
    for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
    const onward = connect(before, "127.0.0.1", () => {
      onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.once("error", () => socket.destroy());
    socket.once("close", () => onward.destroy());
    onward.once("close", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  guard.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return guard;
}
