import type { ClientRequest } from "node:http";
import { parseUrl } from "@wirescope/channelz/internal";
import type { ClientChannel } from "./client-channel.js";
import type { RequestTarget } from "./patch-clients.js";

interface Origin<C> {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly channel: C;
  /** The request count at its last use. */
  usedAt: number;
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** The channels for the requests of this process, one for each origin. */
export class Origins<C extends ClientChannel> {
  readonly #maxIdle: number;
  readonly #createChannel: (target: string) => C;
  /** By host, so that a lookup creates no new string. */
  readonly #byHost = new Map<string, Origin<C>[]>();
  #requests = 0;

  constructor(maxIdle: number, createChannel: (target: string) => C) {
    this.#maxIdle = maxIdle;
    this.#createChannel = createChannel;
  }

  readonly find = (request: ClientRequest, target: RequestTarget): C => {
    const { host, port: givenPort } = target.host == null ? targetOfHeader(request) : target;
    const { protocol } = request;
    const port = Number(givenPort) || (defaultPorts[protocol] ?? 0);
    const path = target.socketPath ?? (request as RequestTarget).socketPath ?? "";
    return this.at(protocol, host!, port, path);
  };

  /** The channel of an origin, or of a Unix socket if there is a path; it is created if it does not exist. */
  at(protocol: string, host: string, port: number, path: string): C {
    const origin = this.#known(protocol, host, port, path) ?? this.#add(protocol, host, port, path);
    this.#requests += 1;
    origin.usedAt = this.#requests;
    return origin.channel;
  }

  /** The channel of an origin, if it exists. */
  known(protocol: string, host: string, port: number, path: string): C | undefined {
    return this.#known(protocol, host, port, path)?.channel;
  }

  /** Closes a channel, and forgets it. */
  drop(channel: C, reason: string): void {
    for (const [host, origins] of this.#byHost) {
      const left = origins.filter((origin) => origin.channel !== channel);
      if (left.length === 0) this.#byHost.delete(host);
      else if (left.length < origins.length) this.#byHost.set(host, left);
    }
    channel.close(reason);
  }

  close(reason: string): void {
    for (const origins of this.#byHost.values()) for (const { channel } of origins) channel.close(reason);
    this.#byHost.clear();
  }

  #known(protocol: string, host: string, port: number, path: string): Origin<C> | undefined {
    for (const origin of this.#byHost.get(host) ?? []) {
      if (origin.port === port && origin.protocol === protocol && origin.path === path) return origin;
    }
    return undefined;
  }

  #add(protocol: string, host: string, port: number, path: string): Origin<C> {
    this.#closeIdle();
    const target = targetOf(protocol, host, port, path);
    const channel = this.#createChannel(target);
    const origin = { protocol, host, port, path, channel, usedAt: 0 };
    const origins = this.#byHost.get(host);
    if (origins === undefined) this.#byHost.set(host, [origin]);
    else origins.push(origin);
    return origin;
  }

  /** Closes the least recently used idle origins above the limit. */
  #closeIdle(): void {
    const idle = [...this.#byHost.values()].flat().filter(({ channel }) => channel.isIdle);
    if (idle.length < this.#maxIdle) return;
    idle.sort((a, b) => a.usedAt - b.usedAt);
    for (const origin of idle.slice(0, idle.length - this.#maxIdle + 1)) {
      this.drop(origin.channel, "too many idle channels");
    }
  }
}

/** The target of a request whose options are unknown, from its Host header; or only its host, if the header is not usable. */
function targetOfHeader(request: ClientRequest): RequestTarget {
  const url = parseUrl(`http://${request.getHeader("host")}`);
  return request.hasHeader("host") && url !== undefined
    ? { host: url.hostname, port: url.port }
    : { host: request.host };
}

function targetOf(protocol: string, host: string, port: number, path: string): string {
  if (path !== "") return `unix:${path}`;
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return `${protocol}//${name}${port === defaultPorts[protocol] ? "" : `:${port}`}`;
}
