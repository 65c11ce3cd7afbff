import type { ListenOptions } from "@wirescope/channelz";

/**
 * Reads where to listen from one word: `host:port`, `[::1]:port`, `:port` or `port` (on loopback; 0 takes a free one), or
 * `unix:/path`, in which `{pid}` is replaced by the process id. Throws a TypeError that says what is wrong.
 */
export function parseListenSetting(setting: string, pid: number): Pick<ListenOptions, "host" | "port" | "path"> {
  const text = setting.trim();
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replaceAll("{pid}", String(pid));
    if (path === "") throw invalid(setting, "there is no path after unix:");
    return { path };
  }
  const match = /^(?:\[([^\]]+)\]:|([^:]*):)?(\d+)$/.exec(text);
  if (match === null) throw invalid(setting, "it is neither host:port nor unix:/path");
  const port = Number(match[3]);
  if (port > 65_535) throw invalid(setting, `a port is at most 65535, and ${port} is more`);
  const host = match[1] ?? match[2] ?? "";
  return host === "" ? { port } : { host, port };
}

function invalid(setting: string, what: string): TypeError {
  return new TypeError(
    `Cannot listen on ${JSON.stringify(setting)}: ${what}. Write 127.0.0.1:4690, say, or unix:/run/app-{pid}.sock.`,
  );
}
