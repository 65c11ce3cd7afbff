import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button, Section, StateMark } from "../design/index.js";
import {
  childrenOf,
  countOf,
  objectLabel,
  objectPath,
  objectState,
  objectTitle,
  parentsOf,
  rateText,
  rolesOf,
  trafficOf,
} from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { rates, snapshot } from "../shell/store/index.js";

/** The number of rows that are shown at first. */
const maxShort = 20;

export interface RelationsProps {
  readonly object: SnapshotObject;
  readonly isPanel: boolean;
}

/** The objects that refer to the object, and those that it refers to. */
export function Relations({ object, isPanel }: RelationsProps): VNode | null {
  const now = snapshot.value;
  if (now === undefined) return null;
  const parents = parentsOf(now, object.key);
  const children = childrenOf(now, object);
  if (parents.length === 0 && children.length === 0) return null;
  return (
    <>
      {parents.length > 0 && (
        <Section title="Used by" isFlush>
          <ObjectList objects={parents} isPanel={isPanel} />
        </Section>
      )}
      {children.length > 0 && (
        <Section title={object.kind === "server" ? "Sockets" : "Uses"} isFlush>
          <ObjectList objects={children} isPanel={isPanel} />
        </Section>
      )}
    </>
  );
}

/** Objects with their state; problems first. */
function ObjectList({
  objects,
  isPanel,
}: {
  readonly objects: readonly SnapshotObject[];
  readonly isPanel: boolean;
}): VNode {
  const [isWhole, setWhole] = useState(false);
  const roles = rolesOf(snapshot.value?.objects ?? new Map());
  const rows = objects.map((object) => {
    const role = roles.get(object.key);
    const each = rates(object.key);
    return { object, role, state: objectState(object, each, role), traffic: trafficOf(object, each) };
  });
  rows.sort((a, b) => Number(b.state.isProblem) - Number(a.state.isProblem));
  const shown = isWhole ? rows : rows.slice(0, maxShort);
  return (
    <ul class="object-list">
      {shown.map(({ object, role, state, traffic }) => (
        <li key={object.key}>
          <Link to={objectPath(object)} inPanel={isPanel}>
            {role === "listen" ? `listener ${object.id}` : objectLabel(object)}
          </Link>
          <span class="object-list-title">
            {objectTitle(object, role) === objectLabel(object) ? "" : objectTitle(object, role)}
          </span>
          <span class="soft">{rateText(traffic, object.kind === "socket" ? "msg" : "calls")}</span>
          <StateMark tone={state.tone}>{state.word}</StateMark>
        </li>
      ))}
      {rows.length > shown.length && (
        <li>
          <Button isSmall onClick={() => setWhole(true)}>
            Show all {countOf(rows.length, "object")}
          </Button>
        </li>
      )}
    </ul>
  );
}
