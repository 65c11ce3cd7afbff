import type { ObjectKind, Snapshot } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Empty, Time } from "../design/index.js";
import { findObject, objectLabel } from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { changes, chooseTime, chosenTime, readMoment } from "../shell/store/index.js";
import { ObjectDetails } from "./object-details.js";

export interface ClosedObjectProps {
  readonly kind: ObjectKind;
  readonly id: bigint;
  readonly isPanel: boolean;
}

/** An object that does not exist at the shown moment: its last state, if the history still has it. */
export function ClosedObject({ kind, id, isPanel }: ClosedObjectProps): VNode {
  const label = objectLabel({ kind, id });
  const ending = changes.value.findLast(
    (change) => change.kind === "disappeared" && change.key.endsWith(`|${kind}|${id}`),
  );
  const beginning = changes.value.find((change) => change.kind === "appeared" && change.key.endsWith(`|${kind}|${id}`));
  const last = useMoment(ending === undefined ? undefined : ending.timeMs - 1);
  const object = last === undefined ? undefined : findObject(last, kind, id);
  const shownMs = chosenTime.value;

  if (shownMs !== undefined && beginning !== undefined && beginning.timeMs > shownMs) {
    return (
      <Empty title={`At this time, ${label} did not exist yet.`}>
        <p>
          It appeared <Time ms={beginning.timeMs} />.
        </p>
        <Button onClick={() => chooseTime(beginning.timeMs)}>Show that moment</Button>
      </Empty>
    );
  }
  if (ending === undefined) {
    return (
      <Empty title={`There is no ${label}.`}>
        <p>It closed before the history begins, or it never existed.</p>
        <Link to="/connections">Show all connections</Link>
      </Empty>
    );
  }
  return (
    <>
      <p class="object-note object-note-closed" role="status">
        <span>
          Closed <Time ms={ending.timeMs} />. This is its last state.
        </span>
        <Button isSmall onClick={() => chooseTime(ending.timeMs - 1)}>
          Show that moment
        </Button>
      </p>
      {object !== undefined && <ObjectDetails object={object} isPanel={isPanel} closedMs={ending.timeMs} />}
    </>
  );
}

/** The snapshot of a moment; undefined until it is loaded. */
function useMoment(timeMs: number | undefined): Snapshot | undefined {
  const [found, setFound] = useState<{ readonly timeMs: number; readonly snapshot: Snapshot | undefined }>();
  useEffect(() => {
    if (timeMs === undefined) return undefined;
    const controller = new AbortController();
    readMoment(timeMs, controller.signal).then(
      (snapshot) => setFound({ timeMs, snapshot }),
      () => {
        // Without the snapshot, the page still shows when the object closed.
      },
    );
    return () => controller.abort();
  }, [timeMs]);
  return found !== undefined && found.timeMs === timeMs ? found.snapshot : undefined;
}
