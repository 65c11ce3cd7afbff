import { type IncomingMessage, request, STATUS_CODES } from "node:http";
import { BlockList, isIP, isIPv4, type Socket } from "node:net";
import { publish } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { decodeLeniently, hostOf, isLoopbackHost, parseUrl, portOf } from "../url.js";
import { ConnectObstacle } from "./http-failure.js";

/** A proxy to connect through. */
export interface ProxyServer {
  readonly host: string;
  readonly port: number;
  /** Whether the connection to the proxy uses TLS. */
  readonly isSecure: boolean;
  /** The value of Proxy-Authorization, if the proxy URL contains a user. A secret. */
  readonly authorization: string | undefined;
  /** The variable that names it. */
  readonly variable: string;
}

interface ProxySettings {
  /** The environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; lower-case names take precedence. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Whether the proxy is also used for loopback hosts. */
  readonly includesLoopback: boolean;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
}

/** The proxy for a URL; undefined for a direct connection. Throws SERVER_UNREACHABLE for a proxy that cannot be used. */
export function proxyFor(url: URL, { variables, includesLoopback, secrets }: ProxySettings): ProxyServer | undefined {
  const isSecure = url.protocol === "https:" || url.protocol === "wss:";
  const found = firstSet(variables, [isSecure ? "https_proxy" : "http_proxy", "all_proxy"]);
  if (found === undefined) return undefined;
  if (!includesLoopback && isLoopbackHost(url.hostname)) return undefined;
  const exempt = firstSet(variables, ["no_proxy"]);
  if (exempt !== undefined && isExempt(url, exempt.value)) return undefined;
  return parseProxy(found.name, found.value, secrets);
}

function parseProxy(variable: string, value: string, secrets: ProxySettings["secrets"]): ProxyServer {
  const text = value.includes("://") ? value : `http://${value}`;
  const url = parseUrl(text);
  if (url === undefined) throw unusable(variable, "does not contain the URL of a proxy");
  const [user, password] = [decodeLeniently(url.username), decodeLeniently(url.password)];
  secrets.add(password);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const scheme = printableText(secrets.redact(url.protocol), 40);
    throw unusable(variable, `names a proxy with the scheme ${scheme}, and only http: and https: are supported`);
  }
  if (url.hostname === "") throw unusable(variable, "names no host");
  const hasUser = user !== "" || password !== "";
  const credentials = Buffer.from(`${user}:${password}`, "utf8").toString("base64");
  if (hasUser) secrets.add(credentials);
  return {
    host: hostOf(url.hostname),
    port: portOf(url),
    isSecure: url.protocol === "https:",
    authorization: hasUser ? `Basic ${credentials}` : undefined,
    variable,
  };
}

function unusable(variable: string, what: string): ToolServerError {
  const parts = { problem: `${variable} ${what}.`, advice: "Set it to a URL such as http://host:port, or unset it." };
  return new ToolServerError("SERVER_UNREACHABLE", parts, { details: { wasSent: false, variable } });
}

/** Whether NO_PROXY contains the host of a URL: by its name or a parent domain, an address, or a network. */
function isExempt(url: URL, list: string): boolean {
  const host = hostOf(url.hostname).toLowerCase().replace(/\.$/, "");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      const { name, port } = splitPort(entry);
      if (port !== undefined && port !== portOf(url)) return false;
      if (isIP(host) !== 0) return name === host || isWithin(host, name);
      const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
      return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
    });
}

function splitPort(entry: string): { name: string; port: number | undefined } {
  const parts = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(entry);
  if (parts !== null) return { name: parts[1] ?? parts[2] ?? "", port: Number(parts[3]) };
  return { name: hostOf(entry), port: undefined };
}

function isWithin(address: string, network: string): boolean {
  const [base, prefix] = network.split("/");
  if (base === undefined || prefix === undefined || isIP(base) === 0 || !/^\d{1,3}$/.test(prefix)) return false;
  const bits = Number(prefix);
  if (bits > (isIPv4(base) ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(base, bits, isIPv4(base) ? "ipv4" : "ipv6");
  return list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

function firstSet(
  variables: ProxySettings["variables"],
  names: readonly string[],
): { name: string; value: string } | undefined {
  for (const name of names.flatMap((lower) => [lower, lower.toUpperCase()])) {
    const value = variables[name]?.trim();
    if (value !== undefined && value !== "") return { name, value };
  }
  return undefined;
}

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
    const tunnelRequest = request({
      method: "CONNECT",
      path: target,
      createConnection: () => socket,
      headers: {
        host: target,
        ...(proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization }),
      },
    });
    tunnelRequest.once("connect", (response, joined: Socket, head) => {
      const obstacle = obstacleOf(response, proxy);
      if (obstacle !== undefined) return fail(obstacle);
      signal.removeEventListener("abort", onAbort);
      if (head.length > 0) joined.unshift(head);
      resolve(joined);
    });
    tunnelRequest.once("response", (response) => fail(obstacleOf(response, proxy) ?? notAProxy()));
    tunnelRequest.on("error", (error: Error & { code?: string }) => {
      // The parser's code; the rest are errors of the socket.
      fail(error.code?.startsWith("HPE_") ? notAProxy() : error);
    });
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    tunnelRequest.end();
  });
}

function obstacleOf({ statusCode = 0 }: IncomingMessage, proxy: ProxyServer): ConnectObstacle | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  const { variable, authorization } = proxy;
  // The standard reason phrase: the proxy's own may repeat a part of the password.
  const message = `the proxy returned ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim();
  if (statusCode === 407) {
    const advice =
      authorization === undefined
        ? `It requires a user and a password: add them to ${variable}, as in http://user:password@host:port.`
        : `It rejects the user or the password in ${variable}: correct them.`;
    return new ConnectObstacle(message, advice, statusCode);
  }
  const advice =
    statusCode === 403
      ? "It denies access to this host: ask its administrator, or add the host to NO_PROXY."
      : "It could not reach the server: check the host and port in the URL, or add the host to NO_PROXY.";
  return new ConnectObstacle(message, advice, statusCode);
}

function notAProxy(): ConnectObstacle {
  const message = "the server there is not a proxy that supports CONNECT";
  return new ConnectObstacle(message, "Check the host and port of the proxy.");
}
