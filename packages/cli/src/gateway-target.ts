import { parseTarget, type Target } from "@wirescope/channelz/internal";

/**
 * Whether a target that the user names is the address at which a gateway of this machine serves Channelz. Only addresses of the
 * loopback count, because the token of the gateway follows.
 */
export function isAddressOf(gateway: string, named: string): boolean {
  const [own, asked] = [parseTarget(gateway), parseTarget(named)];
  if (own.kind === "unix" || asked.kind === "unix") {
    return own.kind === "unix" && asked.kind === "unix" && own.path === asked.path;
  }
  if (own.port !== asked.port || asked.pathPrefix !== "") return false;
  // A target without a scheme gets that of the gateway; one with a scheme must have the same.
  if (asked.isTls !== undefined && asked.isTls !== (own.isTls ?? false)) return false;
  return isLoopback(own) && (asked.host === own.host || asked.host === "localhost");
}

function isLoopback({ host }: Extract<Target, { readonly kind: "tcp" }>): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
