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

/** Opens an address of this page: a path, with a query if needed. The moment stays. `replace` adds no entry to the browser history. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const next = parseAddress(to);
  show({ ...next, momentMs: next.momentMs ?? current.value.momentMs }, replace);
}

/** Browsers limit how often a page may change its address. A slider that is dragged changes it more often. */
const minWriteMs = 400;
let lastWrite: ReturnType<typeof setTimeout> | undefined;

function show(next: Address, replace: boolean): void {
  const url = formatAddress(next);
  if (url === formatAddress(current.value)) return;
  if (replace) {
    current.value = next;
    if (lastWrite !== undefined) return;
    write();
    lastWrite = setTimeout(() => {
      lastWrite = undefined;
      write();
    }, minWriteMs);
  } else {
    write();
    history.pushState(null, "", url);
    isInside = true;
    current.value = next;
  }
}

/** Writes the address into the current entry of the browser history. */
function write(): void {
  const url = formatAddress(current.value);
  if (location.pathname + location.search !== url) history.replaceState(null, "", url);
}

/** Shows another moment; undefined shows now. */
export function setMoment(momentMs: number | undefined): void {
  show({ ...current.value, momentMs }, true);
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
