<?xml version="1.0" encoding="UTF-8"?>
<tileset version="1.8" tiledversion="1.8.2" name="basic" tilewidth="16" tileheight="16" tilecount="5" columns="5">
 <image source="tiles.png" width="80" height="16"/>
 <tile id="0" type="grass"/>
 <tile id="1">
  <properties>
   <property name="floor" value="sand"/>
  </properties>
 </tile>
 <tile id="2" type="scenery">
  <properties>
   <property name="collides" type="bool" value="true"/>
   <property name="floor" value="rock"/>
  </properties>
 </tile>
 <tile id="3" type="bush">
  <properties>
   <property name="stock" type="int" value="2"/>
  </properties>
 </tile>
 <tile id="4">
  <properties>
   <property name="floor" value="sand"/>
   <property name="object" value="door"/>
   <property name="state" value="open"/>
  </properties>
 </tile>
</tileset>
