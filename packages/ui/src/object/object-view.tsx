import type { VNode } from "preact";
import { Empty, Loading } from "../design/index.js";
import { findObject, objectLabel, parseObjectPath } from "../object-model/index.js";
import type { ViewProps } from "../shell/routing/index.js";
import { snapshot } from "../shell/store/index.js";
import { ClosedObject } from "./closed-object.js";
import { ObjectDetails } from "./object-details.js";

/** Everything that Channelz says about one object. */
export function ObjectView({ params, isPanel }: ViewProps): VNode {
  const parsed = parseObjectPath(params.kind, params.id);
  const now = snapshot.value;
  if (parsed === undefined) {
    return (
      <Empty title="This is not the address of an object.">
        Objects have addresses such as <code>/object/channel/12</code>: a kind (channel, subchannel, server or socket)
        and an id.
      </Empty>
    );
  }
  if (now === undefined) return <Loading what={objectLabel(parsed)} />;
  const object = findObject(now, parsed.kind, parsed.id);
  if (object === undefined) return <ClosedObject kind={parsed.kind} id={parsed.id} isPanel={isPanel} />;
  return <ObjectDetails key={object.key} object={object} isPanel={isPanel} />;
}
