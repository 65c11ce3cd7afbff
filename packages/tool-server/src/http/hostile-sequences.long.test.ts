import { describeHostileSequences } from "./hostile-sequences.test.helper.js";

describeHostileSequences(300);
