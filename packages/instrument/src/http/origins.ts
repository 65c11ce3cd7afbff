import type { ClientRequest } from "node:http";
import type { Registry } from "@wirescope/channelz";
import { ClientChannel } from "./client-channel.js";
import type { RequestTarget } from "./patch-clients.js";

interface Origin {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly channel: ClientChannel;
  /** When it was last asked for, in requests. */
  usedAt: number;
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** The channels of this process's requests, one for each origin. */
export class Origins {
  readonly #registry: Registry;
  readonly #maxIdle: number;
  /** By host, so that looking one up makes no new string. */
  readonly #byHost = new Map<string, Origin[]>();
  #requests = 0;

  constructor(registry: Registry, maxIdle: number) {
    this.#registry = registry;
    this.#maxIdle = maxIdle;
  }

  readonly find = (request: ClientRequest, target: RequestTarget): ClientChannel => {
    const { host, port: portTold } = target.host == null ? targetOfHeader(request) : target;
    const { protocol } = request;
    const port = Number(portTold) || (defaultPorts[protocol] ?? 0);
    const path = target.socketPath ?? (request as RequestTarget).socketPath ?? "";
    const origin = this.#known(protocol, host!, port, path) ?? this.#add(protocol, host!, port, path);
    this.#requests += 1;
    origin.usedAt = this.#requests;
    return origin.channel;
  };

  /** Closes all channels. */
  close(reason: string): void {
    for (const origins of this.#byHost.values()) for (const { channel } of origins) channel.close(reason);
    this.#byHost.clear();
  }

  #known(protocol: string, host: string, port: number, path: string): Origin | undefined {
    for (const origin of this.#byHost.get(host) ?? []) {
      if (origin.port === port && origin.protocol === protocol && origin.path === path) return origin;
    }
    return undefined;
  }

  #add(protocol: string, host: string, port: number, path: string): Origin {
    this.#closeIdle();
    const target = targetOf(protocol, host, port, path);
    const channel = new ClientChannel(this.#registry, this.#registry.addChannel({ target }), target, true);
    const origin = { protocol, host, port, path, channel, usedAt: 0 };
    const origins = this.#byHost.get(host);
    if (origins === undefined) this.#byHost.set(host, [origin]);
    else origins.push(origin);
    return origin;
  }

  /** Lets the origins go that were idle for longest, so that not more are kept than may be. */
  #closeIdle(): void {
    const idle = [...this.#byHost.values()].flat().filter(({ channel }) => channel.isIdle);
    if (idle.length < this.#maxIdle) return;
    idle.sort((a, b) => a.usedAt - b.usedAt);
    for (const origin of idle.slice(0, idle.length - this.#maxIdle + 1)) {
      const left = this.#byHost.get(origin.host)!.filter((one) => one !== origin);
      if (left.length > 0) this.#byHost.set(origin.host, left);
      else this.#byHost.delete(origin.host);
      origin.channel.close("idle for longest");
    }
  }
}

/** For a request of which nothing is known but itself. */
function targetOfHeader(request: ClientRequest): RequestTarget {
  const { hostname, port } = new URL(`http://${request.getHeader("host") ?? request.host}`);
  return { host: hostname, port };
}

function targetOf(protocol: string, host: string, port: number, path: string): string {
  if (path !== "") return `unix:${path}`;
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return `${protocol}//${name}${port === defaultPorts[protocol] ? "" : `:${port}`}`;
}
