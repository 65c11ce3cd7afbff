import "./tools-view.css";
import type { VNode } from "preact";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { Empty, ErrorNote, Loading, Tabs } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { type Offer, type OfferKind, offers, offersFailure, runs, watchOffers } from "../shell/mcp/index.js";
import { Link, navigate, type ViewProps } from "../shell/routing/index.js";
import { type Command, useCommands } from "../shell/store/index.js";
import { mountInputRequests } from "./input-request-dialog.js";
import { offerAddress } from "./offer-address.js";
import { OfferList } from "./offer-list.js";
import { PromptDetail } from "./prompt-detail.js";
import { ResourceDetail, unlistedResource } from "./resource-detail.js";
import { RunHistory } from "./run-history.js";
import { ToolDetail } from "./tool-detail.js";

type Tab = "tools" | "resources" | "prompts" | "runs";

const tabKinds: Readonly<Record<Tab, readonly OfferKind[]>> = {
  tools: ["tool"],
  resources: ["resource", "template"],
  prompts: ["prompt"],
  runs: [],
};

/** Tools, resources and prompts of all servers, and the runs in this tab. */
export function ToolsView({ path, params, query }: ViewProps): VNode {
  useEffect(watchOffers, []);
  useEffect(mountInputRequests, []);
  useCommands(useCallback(offerCommands, []));
  const current = offers.value;
  const tab = tabOf(path, query);
  const search = query.get("q");
  const list = useMemo(() => {
    const all = tabKinds[tab].map((kind) => current[kind]);
    return all.includes(undefined) ? undefined : all.flatMap((each) => each ?? []);
  }, [tab, current]);
  const shown = list?.filter(({ server }) => params.server === undefined || server === params.server);
  const selected = selectedOffer(list, params, query);

  const count = (...kinds: readonly OfferKind[]): number | undefined =>
    kinds.reduce<number | undefined>((sum, kind) => {
      const { length } = current[kind] ?? {};
      return sum === undefined || length === undefined ? undefined : sum + length;
    }, 0);
  return (
    <div class="tools">
      {(tab === "runs" || selected === undefined) && <h1 class="visually-hidden">Tools</h1>}
      <div class="tools-tabs">
        <Tabs<Tab>
          label="Kinds"
          tabs={[
            { key: "tools", title: "Tools", count: count("tool") },
            { key: "resources", title: "Resources", count: count("resource", "template") },
            { key: "prompts", title: "Prompts", count: count("prompt") },
            { key: "runs", title: "My runs", count: runs.value.length },
          ]}
          selected={tab}
          onSelect={(next) => navigate(next === "runs" ? "/tools?show=runs" : `/${next}`)}
        />
      </div>
      {tab === "runs" ? (
        <div class="tools-runs">
          <RunHistory selectedId={Number(query.get("run") ?? 0)} />
        </div>
      ) : (
        <div class={selected === undefined ? "tools-columns" : "tools-columns tools-with-detail"}>
          <div class="tools-list">
            {offersFailure.value !== undefined && <ErrorNote error={offersFailure.value} />}
            {shown === undefined ? (
              offersFailure.value === undefined && <Loading what={tab} />
            ) : (
              <OfferList what={tab} offers={shown} selected={selected} server={params.server} />
            )}
          </div>
          <div class="tools-detail">
            {selected === undefined ? (
              <Nothing tab={tab} list={list} wanted={query.get("name") ?? params.tool} />
            ) : (
              <>
                <Link
                  to={search === null ? `/${tab}` : `/${tab}?${new URLSearchParams({ q: search })}`}
                  class="tools-back"
                >
                  All {tab}
                </Link>
                <Detail key={`${selected.kind} ${selected.key}`} offer={selected} />
              </>
            )}
          </div>
        </div>
      )}
    </div>
  );
}

function Detail({ offer }: { readonly offer: Offer }): VNode {
  if (offer.kind === "tool") return <ToolDetail offer={offer} />;
  return offer.kind === "prompt" ? <PromptDetail offer={offer} /> : <ResourceDetail offer={offer} />;
}

function Nothing({
  tab,
  list,
  wanted,
}: {
  readonly tab: Tab;
  readonly list: readonly Offer[] | undefined;
  readonly wanted: string | undefined;
}): VNode | null {
  if (list === undefined) return null;
  if (wanted !== undefined) {
    return (
      <Empty title={`${visibleLine(wanted)} is not offered.`}>
        <p>Its server may be disconnected, or a tool filter in the settings may exclude it.</p>
        <Link to="/overview">Show the servers</Link>
      </Empty>
    );
  }
  if (list.length === 0) {
    return (
      <Empty title={`No server offers ${tab}.`}>
        <Link to="/overview">Show the servers</Link>
      </Empty>
    );
  }
  return <Empty title={`Select one of the ${tab} to try it.`} />;
}

function tabOf(path: string, query: URLSearchParams): Tab {
  if (query.get("show") === "runs") return "runs";
  return path.startsWith("/resources") ? "resources" : path.startsWith("/prompts") ? "prompts" : "tools";
}

function selectedOffer(
  list: readonly Offer[] | undefined,
  { server, tool }: ViewProps["params"],
  query: URLSearchParams,
): Offer | undefined {
  if (list === undefined) return undefined;
  if (server !== undefined && tool !== undefined) {
    return list.find((offer) => offer.server === server && offer.name === tool);
  }
  const [uri, template, name] = ["uri", "template", "name"].map((field) => query.get(field));
  if (uri) return list.find(({ kind, key }) => kind === "resource" && key === uri) ?? unlistedResource(uri);
  if (template) return list.find(({ kind, key }) => kind === "template" && key === template);
  return name ? list.find(({ key }) => key === name) : undefined;
}

function offerCommands(): readonly Command[] {
  const { tool, prompt } = offers.peek();
  return [...(tool ?? []), ...(prompt ?? [])].map((offer) => ({
    id: `${offer.kind} ${offer.key}`,
    title: visibleLine(offer.name),
    group: offer.kind === "tool" ? "Tool" : "Prompt",
    detail: `${visibleLine(offer.server)} ${visibleLine(offer.title ?? "")}`.trim(),
    run: () => navigate(offerAddress(offer)),
  }));
}
