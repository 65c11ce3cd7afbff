/** The query parameter with the address in the detail panel. */
const panelParameter = "panel";

/** The parsed address of the page: the view, and the content of the panel next to it. */
export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The address in the detail panel, such as `/object/channel/12`. Undefined if the panel is closed. */
  readonly panel: string | undefined;
}

export function parseAddress(url: string): Address {
  // Any base: it only makes a relative URL valid.
  const { pathname, searchParams } = new URL(url, "http://page");
  const panel = searchParams.get(panelParameter) ?? undefined;
  searchParams.delete(panelParameter);
  return { path: pathname, query: searchParams, panel: panel?.startsWith("/") ? panel : undefined };
}

export function formatAddress({ path, query, panel }: Address): string {
  const all = new URLSearchParams(query);
  if (panel !== undefined) all.set(panelParameter, panel);
  // Slashes are allowed in a query, and an address is easier to read with them.
  const search = all.toString().replaceAll("%2F", "/");
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
