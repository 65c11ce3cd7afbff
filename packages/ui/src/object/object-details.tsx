import "./object-view.css";
import { formatAddress, printableText } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { Copy, StateMark } from "../design/index.js";
import { objectLabel, objectPath, objectState, objectTitle, rolesOf, type SocketRole } from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { rates, snapshot } from "../shell/store/index.js";
import { Breadcrumbs } from "./breadcrumbs.js";
import { CorrectionSection } from "./correction-section.js";
import { CounterSection } from "./counter-section.js";
import { Relations } from "./relations.js";
import { SocketSections } from "./socket-sections.js";
import { Summary } from "./summary.js";
import { TraceSection } from "./trace-section.js";

export interface ObjectDetailsProps {
  readonly object: SnapshotObject;
  readonly isPanel: boolean;
  /** When it closed, in milliseconds since 1970; undefined if it exists at the moment that the page shows. */
  readonly closedMs?: number | undefined;
}

/** The object with all its sections. */
export function ObjectDetails({ object, isPanel, closedMs }: ObjectDetailsProps): VNode {
  const role = snapshot.value === undefined ? undefined : rolesOf(snapshot.value.objects).get(object.key);
  const state = objectState(object, closedMs === undefined ? rates(object.key) : undefined, role);
  const title = fullTitle(object, role);
  const label = objectLabel(object);
  return (
    <article class={isPanel ? "object object-panel" : "object"}>
      <Breadcrumbs object={object} isPanel={isPanel} />
      <header class="object-header">
        <p class="object-kind">
          {role === "listen" ? `listening ${label}` : label}
          <Copy text={String(object.id)} what="id" />
        </p>
        <h1 class="object-title">{title}</h1>
        <StateMark tone={closedMs === undefined ? state.tone : "idle"}>
          {closedMs === undefined ? state.word : "closed"}
        </StateMark>
        <span class="object-link">
          {!isPanel && <Link to={`/connections?panel=${objectPath(object)}`}>Show in the graph</Link>}
          <span>
            Copy link
            <Copy text={location.origin + objectPath(object)} what="link" />
          </span>
        </span>
      </header>
      {object.unreadable !== undefined && (
        <p class="object-note object-note-failing" role="status">
          This object could not be read: {object.unreadable.slice(0, 500)}
        </p>
      )}
      <div class="object-columns">
        <div class="object-column">
          <Summary object={object} role={role} isPanel={isPanel} />
          <CounterSection object={object} isClosed={closedMs !== undefined} />
          <CorrectionSection object={object} />
          <Relations object={object} isPanel={isPanel} />
        </div>
        <div class="object-column">
          {object.kind === "socket" && <SocketSections object={object} isClosed={closedMs !== undefined} />}
          <TraceSection object={object} isPanel={isPanel} />
        </div>
      </div>
    </article>
  );
}

/** The title of an object; for a connection, both addresses. */
function fullTitle(object: SnapshotObject, role: SocketRole | undefined): string {
  const title = objectTitle(object, role);
  if (object.kind !== "socket" || role === "listen") return title;
  const local = formatAddress(object.message?.local);
  const remote = formatAddress(object.message?.remote);
  if (local === "-" || remote === "-") return title;
  return printableText(role === "server" ? `${remote} → ${local}` : `${local} → ${remote}`, 240);
}
