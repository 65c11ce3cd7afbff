import { parseUrl } from "@wirescope/channelz/internal";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The url that a signal goes to; undefined where it cannot be used, which is told. The one of a signal is used as it is, and
 * that of all has the path of the signal added.
 */
export function readEndpoint(env: Env, signal: "TRACES" | "METRICS", problems: string[]): string | undefined {
  const path = `v1/${signal.toLowerCase()}`;
  const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]?.trim() || undefined;
  const common = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || "http://localhost:4318";
  const given = own ?? common;
  const url = parseUrl(given);
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    const name = own === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    const what = own === undefined ? "Nothing is exported to it" : `No ${signal.toLowerCase()} are exported`;
    problems.push(`${name} is not an http or https URL. ${what}. Use a value such as "http://localhost:4318".`);
    return undefined;
  }
  if (own === undefined) url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}

/** A url as it may be shown: without a password, and without what stands after the path. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
