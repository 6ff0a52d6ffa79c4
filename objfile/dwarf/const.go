package dwarf

// Tag says what an entry describes (DWARF 5, table 7.3).
type Tag uint16

// The tags that are used.
const (
	TagArrayType          Tag = 0x01
	TagClassType          Tag = 0x02
	TagEnumerationType    Tag = 0x04
	TagFormalParameter    Tag = 0x05
	TagImportedDecl       Tag = 0x08
	TagLexicalBlock       Tag = 0x0b
	TagMember             Tag = 0x0d
	TagPointerType        Tag = 0x0f
	TagReferenceType      Tag = 0x10
	TagCompileUnit        Tag = 0x11
	TagStructType         Tag = 0x13
	TagSubroutineType     Tag = 0x15
	TagTypedef            Tag = 0x16
	TagUnionType          Tag = 0x17
	TagUnspecifiedParams  Tag = 0x18
	TagInheritance        Tag = 0x1c
	TagInlinedSubroutine  Tag = 0x1d
	TagPtrToMemberType    Tag = 0x1f
	TagSubrangeType       Tag = 0x21
	TagBaseType           Tag = 0x24
	TagCatchBlock         Tag = 0x25
	TagConstType          Tag = 0x26
	TagEnumerator         Tag = 0x28
	TagSubprogram         Tag = 0x2e
	TagTemplateTypeParam  Tag = 0x2f
	TagTemplateValueParam Tag = 0x30
	TagTryBlock           Tag = 0x32
	TagVariable           Tag = 0x34
	TagVolatileType       Tag = 0x35
	TagRestrictType       Tag = 0x37
	TagInterfaceType      Tag = 0x38
	TagNamespace          Tag = 0x39
	TagUnspecifiedType    Tag = 0x3b
	TagPartialUnit        Tag = 0x3c
	TagImportedUnit       Tag = 0x3d
	TagRvalueRefType      Tag = 0x42
	TagTemplateAlias      Tag = 0x43
	TagAtomicType         Tag = 0x47
	TagSkeletonUnit       Tag = 0x4a
	TagImmutableType      Tag = 0x4b
	TagParameterPack      Tag = 0x4108 // DW_TAG_GNU_formal_parameter_pack, of gcc
)

// Attr names an attribute of an entry (DWARF 5, table 7.5).
type Attr uint16

// The attributes that are used.
const (
	AttrSibling           Attr = 0x01
	AttrLocation          Attr = 0x02
	AttrName              Attr = 0x03
	AttrByteSize          Attr = 0x0b
	AttrBitOffset         Attr = 0x0c
	AttrBitSize           Attr = 0x0d
	AttrStmtList          Attr = 0x10
	AttrLowPC             Attr = 0x11
	AttrHighPC            Attr = 0x12
	AttrLanguage          Attr = 0x13
	AttrImport            Attr = 0x18
	AttrCompDir           Attr = 0x1b
	AttrConstValue        Attr = 0x1c
	AttrInline            Attr = 0x20
	AttrUpperBound        Attr = 0x2f
	AttrAbstractOrigin    Attr = 0x31
	AttrArtificial        Attr = 0x34
	AttrCount             Attr = 0x37
	AttrCallingConvention Attr = 0x36
	AttrDataMemberLoc     Attr = 0x38
	AttrDeclFile          Attr = 0x3a
	AttrDeclLine          Attr = 0x3b
	AttrDeclColumn        Attr = 0x39
	AttrDeclaration       Attr = 0x3c
	AttrEncoding          Attr = 0x3e
	AttrExternal          Attr = 0x3f
	AttrFrameBase         Attr = 0x40
	AttrSpecification     Attr = 0x47
	AttrType              Attr = 0x49
	AttrVirtuality        Attr = 0x4c
	AttrEntryPC           Attr = 0x52
	AttrRanges            Attr = 0x55
	AttrCallColumn        Attr = 0x57
	AttrCallFile          Attr = 0x58
	AttrCallLine          Attr = 0x59
	AttrSignature         Attr = 0x69
	AttrDataBitOffset     Attr = 0x6b
	AttrEnumClass         Attr = 0x6d
	AttrLinkageName       Attr = 0x6e
	AttrStrOffsetsBase    Attr = 0x72
	AttrAddrBase          Attr = 0x73
	AttrRngListsBase      Attr = 0x74
	AttrDwoName           Attr = 0x76
	AttrNoReturn          Attr = 0x87
	AttrAlignment         Attr = 0x88
	AttrExportSymbols     Attr = 0x89
	AttrLocListsBase      Attr = 0x8c
	AttrMIPSLinkage       Attr = 0x2007
	AttrGNUVector         Attr = 0x2107
	AttrGNUDwoName        Attr = 0x2130
	AttrGNUDwoID          Attr = 0x2131
	AttrGNURangesBase     Attr = 0x2132
	AttrGNUAddrBase       Attr = 0x2133
)

// form is the encoding of an attribute's value (DWARF 5, table 7.6).
type form uint16

const (
	formAddr          form = 0x01
	formBlock2        form = 0x03
	formBlock4        form = 0x04
	formData2         form = 0x05
	formData4         form = 0x06
	formData8         form = 0x07
	formString        form = 0x08
	formBlock         form = 0x09
	formBlock1        form = 0x0a
	formData1         form = 0x0b
	formFlag          form = 0x0c
	formSdata         form = 0x0d
	formStrp          form = 0x0e
	formUdata         form = 0x0f
	formRefAddr       form = 0x10
	formRef1          form = 0x11
	formRef2          form = 0x12
	formRef4          form = 0x13
	formRef8          form = 0x14
	formRefUdata      form = 0x15
	formIndirect      form = 0x16
	formSecOffset     form = 0x17
	formExprloc       form = 0x18
	formFlagPresent   form = 0x19
	formStrx          form = 0x1a
	formAddrx         form = 0x1b
	formRefSup4       form = 0x1c
	formStrpSup       form = 0x1d
	formData16        form = 0x1e
	formLineStrp      form = 0x1f
	formRefSig8       form = 0x20
	formImplicitConst form = 0x21
	formLoclistx      form = 0x22
	formRnglistx      form = 0x23
	formRefSup8       form = 0x24
	formStrx1         form = 0x25
	formStrx2         form = 0x26
	formStrx3         form = 0x27
	formStrx4         form = 0x28
	formAddrx1        form = 0x29
	formAddrx2        form = 0x2a
	formAddrx3        form = 0x2b
	formAddrx4        form = 0x2c
	formGNUAddrIndex  form = 0x1f01
	formGNUStrIndex   form = 0x1f02
	formGNURefAlt     form = 0x1f20
	formGNUStrpAlt    form = 0x1f21
)

// Unit types (DWARF 5, table 7.2).
const (
	unitCompile      = 1
	unitType         = 2
	unitPartial      = 3
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)
