import { ConnectivityState } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Empty, SearchField } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { groupByServer, type Offer, searchOffers } from "../shell/mcp/index.js";
import { address, Link, setQuery } from "../shell/routing/index.js";
import { servers } from "../shell/store/index.js";
import { offerAddress } from "./offer-address.js";

const maxShown = 400;

export interface OfferListProps {
  /** What the offers are: "tools". */
  readonly what: string;
  readonly offers: readonly Offer[];
  readonly selected: Offer | undefined;
  /** The only server that is shown; undefined for all. */
  readonly server: string | undefined;
}

/** Offers grouped by server, with a search. The arrow keys move between them. */
export function OfferList({ what, offers, selected, server }: OfferListProps): VNode {
  const search = address.value.query.get("q") ?? "";
  const list = useRef<HTMLDivElement>(null);
  const found = useMemo(() => searchOffers(offers, search), [offers, search]);
  const groups = useMemo(() => groupByServer(found.slice(0, maxShown)), [found]);
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [selected?.key]);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = [...(list.current?.querySelectorAll("a") ?? [])];
    if (step === undefined || links.length === 0) return;
    event.preventDefault();
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the links inside have the focus; the keys move between them.
    <div class="offer-list" onKeyDown={move}>
      <SearchField what={what} value={search} onInput={(q) => setQuery({ q })} />
      {server !== undefined && (
        <p class="offer-filter">
          Only {visibleLine(server)}. <Link to={`/${what}`}>Show all servers</Link>
        </p>
      )}
      {found.length === 0 && offers.length > 0 && (
        <Empty title={`No ${what} match the search.`}>Search by name, server or description.</Empty>
      )}
      <div class="offer-groups" ref={list}>
        {groups.map(([name, group]) => (
          <section key={name} aria-label={visibleLine(name)}>
            <h2 class="offer-server">
              {visibleLine(name)} <span class="soft">{group.length}</span>
            </h2>
            <ul>
              {group.map((offer) => (
                <li key={`${offer.kind} ${offer.key}`}>
                  <Link to={offerAddress(offer, search)} class="offer" isCurrent={offer === selected}>
                    <span class="offer-name">{visibleLine(offer.name, 120)}</span>
                    <span class="offer-text">{visibleLine(offer.title ?? offer.description, 140)}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      <Disconnected />
      {found.length > maxShown && <p class="soft">{found.length - maxShown} more. Search to find them.</p>}
    </div>
  );
}

/** The servers that offer nothing because they are not connected. */
function Disconnected(): VNode | null {
  const names = servers.value?.filter(({ state }) => state !== ConnectivityState.READY).map(({ name }) => name) ?? [];
  if (names.length === 0) return null;
  return (
    <p class="offer-filter soft">
      Not connected: {visibleLine(names.join(", "), 300)}. <Link to="/overview">Show the servers</Link>
    </p>
  );
}
