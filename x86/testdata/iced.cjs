// Says what iced-x86 knows of instructions: one in hexadecimal a line, one line of JSON
// back. For TestEffectsAgainstIced.
const { Decoder, DecoderOptions, InstructionInfoFactory, MemorySizeExt, Register, OpAccess } = require("iced-x86");
const factory = new InstructionInfoFactory();
const lines = require("fs").readFileSync(0, "latin1").split("\n").filter(Boolean);
const out = [];
for (const line of lines) {
  const decoder = new Decoder(64, Buffer.from(line, "hex"), DecoderOptions.None);
  const i = decoder.decode();
  const info = factory.info(i);
  out.push(JSON.stringify({
    Length: i.isInvalid ? 0 : i.length,
    Registers: info.usedRegisters().map((r) => ({ Name: Register[r.register], Access: OpAccess[r.access] })),
    Memory: info.usedMemory().map((m) => ({
      Base: Register[m.base], Index: Register[m.index], Scale: m.scale, Disp: BigInt.asIntN(64, m.displacement).toString(),
      Size: MemorySizeExt.size(m.memorySize), Access: OpAccess[m.access],
    })),
    Read: i.rflagsRead, Written: i.rflagsWritten | i.rflagsCleared | i.rflagsSet, Undefined: i.rflagsUndefined,
  }));
  info.free();
  i.free();
  decoder.free();
}
process.stdout.write(out.join("\n") + "\n");
