import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Address, formatAddress, parseAddress } from "./address.js";

const current = signal(parseAddress(location.pathname + location.search));
addEventListener("popstate", () => {
  current.value = parseAddress(location.pathname + location.search);
});

/** The address of the page. */
export const address: ReadonlySignal<Address> = computed(() => current.value);

let isInside = false;

/** Whether the user has navigated within the page. The address that the page was loaded with may be a link from somebody else. */
export function hasNavigated(): boolean {
  return isInside;
}

/** Opens an address of this page: a path, with a query if needed. `replace` adds no entry to the browser history. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const next = parseAddress(to);
  const url = formatAddress(next);
  if (url === formatAddress(current.value)) return;
  if (replace) history.replaceState(null, "", url);
  else {
    history.pushState(null, "", url);
    isInside = true;
  }
  current.value = next;
}

/** Changes query parameters, for filters and tabs. An empty or undefined value removes one. */
export function setQuery(values: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(current.value.query);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  navigate(formatAddress({ ...current.value, query }), { replace: true });
}

/** Shows an address in the detail panel, next to the view. Undefined closes the panel. */
export function openPanel(panel: string | undefined): void {
  navigate(formatAddress({ ...current.value, panel }));
}
