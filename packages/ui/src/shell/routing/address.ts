/** The query parameter with the address in the detail panel. */
const panelParameter = "panel";
/** The query parameter with the moment that the page shows. */
const momentParameter = "at";

/** The parsed address of the page: the view, the content of the panel next to it, and the moment that both show. */
export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The address in the detail panel, such as `/object/channel/12`. Undefined if the panel is closed. */
  readonly panel: string | undefined;
  /** In milliseconds since 1970. Undefined for now. */
  readonly momentMs: number | undefined;
}

export function parseAddress(url: string): Address {
  // Any base: it only makes a relative URL valid.
  const { pathname, searchParams } = new URL(url, "http://page");
  const panel = searchParams.get(panelParameter) ?? undefined;
  const momentMs = Date.parse(searchParams.get(momentParameter) ?? "");
  searchParams.delete(panelParameter);
  searchParams.delete(momentParameter);
  return {
    path: pathname,
    query: searchParams,
    panel: panel?.startsWith("/") ? panel : undefined,
    momentMs: Number.isNaN(momentMs) ? undefined : momentMs,
  };
}

export function formatAddress({ path, query, panel, momentMs }: Address): string {
  const all = new URLSearchParams(query);
  if (momentMs !== undefined) all.set(momentParameter, new Date(momentMs).toISOString());
  if (panel !== undefined) all.set(panelParameter, panel);
  // Slashes and colons are allowed in a query, and an address is easier to read with them.
  const search = all.toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  return search === "" ? path : `${path}?${search}`;
}

/** The parameters of a path that matches a pattern such as `/object/:kind/:id`; undefined if it does not match. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const names = pattern.split("/").filter(Boolean);
  const parts = path.split("/").filter(Boolean);
  if (names.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? "";
    if (!name.startsWith(":")) {
      if (name !== part) return undefined;
    } else {
      try {
        params[name.slice(1)] = decodeURIComponent(part);
      } catch {
        return undefined;
      }
    }
  }
  return params;
}
