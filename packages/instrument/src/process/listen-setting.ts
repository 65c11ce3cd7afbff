import type { ListenOptions } from "@wirescope/channelz";

/**
 * Parses a listen address: `host:port`, `[::1]:port`, `:port` or `port` (on loopback; 0 takes a free one), or `unix:/path`, in
 * which `{pid}` is replaced by the process id. Throws a TypeError if it is invalid.
 */
export function parseListenSetting(setting: string, pid: number): Pick<ListenOptions, "host" | "port" | "path"> {
  const text = setting.trim();
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replaceAll("{pid}", String(pid));
    if (path === "") throw invalid(setting, "the path after unix: is missing");
    return { path };
  }
  const match = /^(?:\[([^\]]+)\]:|([^:]*):)?(\d+)$/.exec(text);
  if (match === null) throw invalid(setting, "it is neither host:port nor unix:/path");
  const port = Number(match[3]);
  if (port > 65_535) throw invalid(setting, `port ${port} exceeds 65535`);
  const host = match[1] ?? match[2] ?? "";
  return host === "" ? { port } : { host, port };
}

function invalid(setting: string, what: string): TypeError {
  return new TypeError(
    `Cannot listen on ${JSON.stringify(setting)}: ${what}. Use, for example, 127.0.0.1:4691 or unix:/run/app-{pid}.sock.`,
  );
}
